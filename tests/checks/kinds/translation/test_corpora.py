from trimtab.checks.kinds.translation.corpora import paths_of, put_corpora, put_longest, transforms_of
from trimtab.checks.kinds.written import Written
from trimtab.checks.place import Place
from trimtab.checks.setting import Setting

CORPORA = {
    "a": {"path_src": "a.en", "path_tgt": "a.de"},
    "b": {"path_src": "b.en", "path_tgt": "b.de", "transforms": ["prefix"]},
    "valid": {"path_src": "v.en", "path_tgt": "v.de"},
}


def written(**values):
    settings = {key: Setting(key=key, value=value, place=Place("f")) for key, value in values.items()}
    return Written(path="f", settings=settings)


def test_the_files_of_training_are_told_without_those_of_validation():
    told = {}
    put_corpora(told, written(data=CORPORA), CORPORA)
    assert told["corpora"].value == ["a.en", "a.de", "b.en", "b.de"]
    assert told["validation"].value is True


def test_a_corpus_has_its_own_transforms_or_those_of_all():
    assert transforms_of(written(transforms=["filtertoolong"]), CORPORA)["a"] == ["filtertoolong"]
    assert transforms_of(written(transforms=["filtertoolong"]), CORPORA)["b"] == ["prefix"]


def test_the_longest_line_is_told_where_every_corpus_is_filtered():
    whole = written(transforms=["filtertoolong"], src_seq_length=100)
    some, all_of_them = {}, {}
    put_longest(some, whole, CORPORA)
    put_longest(all_of_them, whole, {"a": CORPORA["a"]})
    assert some == {}
    assert all_of_them["sequence_length"].value == 100


def test_what_is_no_corpus_has_no_files():
    assert paths_of(3) == []

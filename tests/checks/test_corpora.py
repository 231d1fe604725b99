from dataclasses import replace

from tests.checks.written import run_of
from tests.for_each import for_each
from trimtab.checks.corpora import corpora_of, setting_of


def run(tool, tree, **keys):
    told = run_of(tool=tool, keys=keys)
    return replace(told, document=replace(told.document, tree=tree))


def test_corpora_have_their_own_transforms_or_the_files():
    tree = {
        "transforms": ["bpe"],
        "data": {"a": {"path_src": "x"}, "b": {"path_src": "y", "transforms": "prefix, bpe"}},
    }
    first, second = corpora_of(run("opennmt", tree))
    assert (first.transforms, second.transforms) == (("bpe",), ("prefix", "bpe"))
    assert first.key == "data.a"


def test_the_validation_set_has_its_name_in_data_alone():
    (valid,) = corpora_of(run("eole", {"data": {"valid": {"path_src": "x"}}}))
    (task,) = corpora_of(run("mammoth", {"tasks": {"valid": {"path_src": "x"}}}))
    assert valid.is_validation
    assert not task.is_validation


def test_an_option_is_told_with_its_place():
    told = run("opennmt", {"data": {"a": {"weight": 2}}}, **{"data.a.weight": 2})
    (corpus,) = corpora_of(told)
    assert setting_of(told, corpus, "weight") is told.keys["data.a.weight"]


@for_each("tree", [None, [], {"data": []}, {"data": {"a": None, 3: {"x": 1}}}, {"data": "a"}])
def test_files_of_another_shape_have_no_corpora(tree):
    assert list(corpora_of(run("opennmt", tree))) == []
    assert list(corpora_of(run("axolotl", tree))) == []

import pytest

from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpora
from trimtab.errors import InputError


def opened(folder, **keys):
    (corpus,) = open_corpora([TrainCorpus(source="en", target="de", **keys)], root=folder, cache=folder)
    return corpus


@pytest.fixture
def files(tmp_path):
    for name, text in {
        "en": "the ship\n\na|b red\n",
        "de": "das Schiff\n\nrot\n",
        "pos": "D N\n\nN A\n",
        "low": "1 2\n\n3 4\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_values_stand_behind_the_words_of_the_source(files):
    corpus = opened(files, factors={"pos": "pos", "low": "low"})
    pairs = [("the|D|1 ship|N|2", "das Schiff"), ("", ""), ("a|b|N|3 red|A|4", "rot")]
    assert [corpus.pair(line) for line in range(3)] == [*corpus.several(range(3))] == pairs
    assert corpus.factor_columns == 2
    assert corpus.is_copy("das|D|1 Schiff|N|2", "das Schiff")
    corpus.check()
    assert (
        opened(files).fingerprint != corpus.fingerprint != opened(files, factors={"pos": "pos"}).fingerprint
    )


def test_a_line_that_does_not_fit_is_named_wherever_it_is_read(files):
    (files / "pos").write_text("D N\n\nN A X\n", encoding="utf-8")
    corpus = opened(files, factors={"pos": "pos"})
    for read in (lambda: corpus.pair(2), lambda: list(corpus.several([0, 2])), corpus.check):
        with pytest.raises(InputError, match="line 3 has 3 values for 2 source words") as caught:
            read()
        assert "3 values for the 2 words" in str(caught.value)
        assert str(files / "pos") + ":3" in str(caught.value)


def test_a_file_has_a_line_for_each_pair(files):
    (files / "pos").write_text("D N\n", encoding="utf-8")
    with pytest.raises(InputError, match="and its corpus have different numbers of lines"):
        opened(files, factors={"pos": "pos"})


def test_factors_may_be_in_the_source_itself(files):
    (files / "en").write_text("the￨D ship￨N\n\na|b￨N red￨A\n", encoding="utf-8")
    corpus = opened(files, factor_separator="￨")
    assert corpus.pair(2)[0] == "a|b|N red|A"
    assert corpus.factor_columns == 1
    with pytest.raises(InputError, match="has no source factor"):
        opened(files, factor_separator="#")
    (files / "en").write_text("the￨D ship￨N\n\na red￨A\n", encoding="utf-8")
    with pytest.raises(InputError, match="other source factors than those of the first line") as caught:
        opened(files, factor_separator="￨").check()
    assert "en:3" in str(caught.value)

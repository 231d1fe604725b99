from trimtab.checks.evidence import Arithmetic, Folklore, Maintainer, Measured, Paper
from trimtab.checks.say.grades import best_first, grade, sentence, source

ALL = (
    Folklore("they say"),
    Arithmetic("1 + 1"),
    Maintainer("https://a", "does", opened=False),
    Paper("https://b", "5%"),
    Measured("bias", "9x"),
)


def test_measured_is_best_and_what_was_not_opened_is_last():
    assert [type(each).__name__ for each in best_first(ALL)] == [
        "Measured", "Paper", "Arithmetic", "Folklore", "Maintainer",
    ]  # fmt: skip


def test_every_grade_has_words_and_a_source_where_there_is_one():
    assert [grade(each) for each in ALL] == [
        "folklore",
        "arithmetic",
        "maintainers",
        "paper",
        "measured here",
    ]
    assert [source(each) for each in ALL] == ["", "", "https://a", "https://b", "experiments/bias"]


def test_a_sentence_says_grade_and_text():
    assert sentence(ALL[3]) == "paper: 5%"
    assert sentence(ALL[2]) == "maintainers (from memory): does"

from typing import Literal

from annotated_types import Ge, Lt

from tests.for_each import for_each
from trimtab.config.describe import describe, join_words, shown
from trimtab.config.places import Place
from trimtab.config.run import Best
from trimtab.config.transforms import Transform
from trimtab.units import Duration


@for_each(
    ("annotation", "words"),
    [
        (int, "a whole number"),
        (str, "text"),
        (bool, "true or false"),
        (str | None, "text or null"),
        (Literal["a", "b", "c"], "a, b or c"),
        (Literal["a", "b"] | None, "a, b or null"),
        (tuple[str, ...], "a list, each item text"),
        (tuple[float, float], "a list of 2, each item a number"),
        (dict[str, str], "a group of names"),
        (Best, "a group of keys: set and metric"),
        (
            Transform,
            "a group of keys with the kind normalize, length, ratio, character_run, duplicate, copy, language, "
            "letters, word_length, denoise, protect or context",
        ),
        (Duration, "a number and its unit, such as '500 steps', '3 epochs', '2M tokens' or '30 minutes'"),
    ],
)
def test_what_is_allowed_is_said_in_words(annotation, words):
    assert describe(Place(annotation)) == words


def test_bounds_belong_to_the_number():
    assert describe(Place(float, (Ge(0), Lt(1)))) == "a number, at least 0 and less than 1"
    assert describe(Place(int | None, (Ge(1),))) == "a whole number, at least 1, or null"


@for_each(
    ("value", "text"),
    [(None, "nothing (null)"), (True, "true"), (False, "false"), ({"a": 1}, "a group of keys"), ([1], "a list"),
     ((1,), "a list"), (1.5, "1.5"), ("x", "'x'")],
)  # fmt: skip
def test_a_value_is_shown_as_it_was_written(value, text):
    assert shown(value) == text


def test_a_long_value_is_cut():
    assert len(shown("x" * 1000)) == 80
    assert shown("x" * 1000).endswith("...")


def test_words_are_joined_as_in_a_sentence():
    assert join_words([], "or") == ""
    assert join_words(["a"], "or") == "a"
    assert join_words(["a", "b", "c"], "and") == "a, b and c"
    assert join_words(["a, b", "c"], "or") == "a, b, or c"

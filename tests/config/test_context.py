import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.context import ContextTransform


def test_by_default_two_sentences_stand_on_both_sides_and_the_current_one_is_learned():
    config = ContextTransform()
    assert (config.sentences, config.sides, config.loss, config.vary) == (2, "both", "current", True)


@for_each("separator", ["a b", "", "▁x", " <sep>"])
def test_a_separator_is_one_word(separator):
    with pytest.raises(ValidationError, match="separator"):
        ContextTransform(separator=separator)


def test_all_sentences_are_learned_only_where_both_sides_have_them():
    with pytest.raises(ValidationError, match="both"):
        ContextTransform(loss="all", sides="source")

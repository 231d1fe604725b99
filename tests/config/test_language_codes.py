"""Codes of languages: two spellings of one, and languages that are two."""

import pytest

from tests.for_each import for_each
from trimtab.config.language_codes import plain_code


@for_each(("one", "other"), [("de", "ger"), ("de", "DEU"), ("pt_BR", "pt-br"), ("zho-Hans", "zh_Hans")])
def test_spellings_of_one_language_are_alike(one: str, other: str) -> None:
    assert plain_code(one) == plain_code(other)


@pytest.mark.parametrize(("one", "other"), [("de", "nl"), ("pt", "pt-BR"), ("nb", "nn")])
def test_other_languages_and_variants_are_not(one: str, other: str) -> None:
    assert plain_code(one) != plain_code(other)

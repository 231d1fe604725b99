import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trimtab.data.transforms.apply import normalize

FORMS = {"nfc": "NFC", "nfkc": "NFKC"}


def test_forms_are_those_of_unicode():
    assert normalize("e\u0301 \ufb01", form="nfc") == "é \ufb01"
    assert normalize("e\u0301 \ufb01", form="nfkc") == "é fi"
    assert normalize("e\u0301 \ufb01", form="none") == "e\u0301 \ufb01"


def test_white_space_is_joined_and_stripped():
    assert normalize(" \ta\u00a0 \u3000b\r\nc\x85d\u2028", form="none") == "a b c d"


def test_control_characters_go_and_invisible_format_characters_stay():
    assert normalize("a\x00b\x1b[0m\x7f\x9fc\u200dd", form="nfc") == "ab[0mc\u200dd"


def test_characters_that_a_control_character_kept_apart_are_composed():
    assert normalize("e\x00\u0301", form="nfc") == "é"


@pytest.mark.parametrize("form", ["nfc", "nfkc", "none"])
@given(st.text())
@example("e\x00\u0301")
@example(" \u0301")
def test_normalising_twice_changes_nothing_more(form, text):
    once = normalize(text, form=form)
    assert normalize(once, form=form) == once
    assert once == once.strip()
    assert not any(unicodedata.category(character) == "Cc" for character in once)
    assert form == "none" or unicodedata.is_normalized(FORMS[form], once)


def test_plain_text_is_untouched():
    assert normalize("A plain line, as most are.", form="nfkc") == "A plain line, as most are."


@pytest.mark.quick("nfc")
@pytest.mark.parametrize("form", ["nfc", "nfkc", "none"])
def test_every_character_comes_out_as_when_all_white_space_is_looked_for(form):
    """Most lines are plain, and are not taken apart to be joined again."""
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if character.isspace() or unicodedata.category(character) not in ("Cc", "Cs", "Cn", "Co"):
            for text in (character, f"a{character}", f"a {character}b"):
                whole = text if form == "none" else unicodedata.normalize(FORMS[form], text)
                assert normalize(text, form=form) == " ".join(whole.split()), (hex(code), text)

import logging

import pytest
import torch

from tests.decode.copying import CharacterTokenizer
from trimtab.decode.glossary import checked_glossary
from trimtab.decode.terminology import spell_glossary, warn_of_missing
from trimtab.errors import InputError


def spelled(glossary: dict[str, str], tokenizer: CharacterTokenizer | None = None):
    tokenizer = tokenizer or CharacterTokenizer(60)
    return spell_glossary(
        checked_glossary(glossary),
        tokenizer,
        lambda texts: [ids[:-1] for ids in tokenizer.encode(texts)],
    )


def test_a_term_has_its_spellings_with_and_without_capital():
    found = spelled({"house": "ab", "b": "B"})
    assert found.spelled["house"].texts == ("ab", "Ab")
    assert found.spelled["b"].texts == ("B",)
    term = found.spelled["house"].term
    assert [each.proposed for each in term] == [True, True, False, False]
    assert term[0].ids == term[2].ids


def test_as_many_terms_are_taken_as_fit():
    found = spelled({"house": "abc", "boat": "de", "sail": "f"})
    assert [each.entry.source for each in found.of_text("a boat, house, sail", max_tokens=7)] == [
        "boat",
        "house",
        "sail",
    ]
    assert [each.entry.source for each in found.of_text("a boat, house, sail", max_tokens=4)] == [
        "boat",
        "sail",
    ]


def test_terms_that_a_translation_lacks_are_found():
    found = spelled({"house": "abc", "boat": "de"})
    assert [each.source for each in found.missing("house boat", "Abc ade")] == ["boat"]
    assert found.missing("nothing", "") == []


def test_a_word_may_begin_behind_what_is_no_letter():
    tokenizer = CharacterTokenizer(9)
    tokenizer.encode(["(a"])
    assert spelled({"house": "a"}, tokenizer).opens_word.tolist()[4:6] == [True, False]
    assert isinstance(spelled({"house": "a"}, tokenizer).opens_word, torch.Tensor)


def test_what_the_vocabulary_cannot_spell_is_named():
    with pytest.raises(InputError) as caught:
        spelled({"house": "abcdefghij", "boat": "a"}, CharacterTokenizer(8))
    assert "cannot spell 'abcdefghij'" in str(caught.value)
    with pytest.raises(InputError, match="5 further terms"):
        spelled({f"s{number}": f"{number:02d}xyzuvw" for number in range(25)}, CharacterTokenizer(6))


def test_the_log_warns_of_three_lines(caplog):
    (entry,) = checked_glossary({"house": ["Haus", "Bau"]}).entries.values()
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        for count in range(1, 6):
            warn_of_missing([entry], line=10 * count, count=count)
    assert len(caplog.messages) == 3
    assert "line 10: its translation lacks 1 term" in caplog.messages[0]
    assert "'Haus' or 'Bau'" in caplog.messages[0]
    assert caplog.messages[2].endswith("of further lines nothing is said")


def test_long_terms_are_shown_by_their_beginning(caplog):
    entry = next(iter(checked_glossary({"house": ["long " * 1000]}).entries.values()))
    with caplog.at_level(logging.WARNING, logger="trimtab"):
        warn_of_missing([entry], line=1, count=1)
    assert len(caplog.messages[0]) < 200

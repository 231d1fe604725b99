import pytest

from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.tasks.text.symbols import changed, letters, symbols_are_apart, text_comes_back


@pytest.mark.parametrize(
    ("name", "id", "told"),
    [
        ("pad", 3, "pad is 3, unknown is 1, start is 2, end is 3"),
        ("end", 66, "end is 66"),
        ("start", -1, "start is -1"),
    ],
)
def test_a_symbol_that_is_another_one_or_none_is_found(parts, monkeypatch, name, id, told):
    monkeypatch.setattr(parts.datasets.tokenizer, name, id)
    results = list(symbols_are_apart(parts))
    assert [(each.code, each.severity) for each in results] == [("D208", "error")] * 2  # told of either side
    assert told in results[0].message


def test_an_id_outside_of_the_vocabulary_is_found(parts, monkeypatch):
    monkeypatch.setattr(parts.datasets.tokenizer, "num_ids", int(parts.datasets.sample.source.values.max()))
    (source, *_) = symbols_are_apart(parts)
    assert "the source's vocabulary" in source.message
    assert "tokens of the first examples have an id outside" in source.message


def test_a_tokenizer_that_loses_a_letter_is_found(parts, monkeypatch):
    decode = SentencePiece.decode
    monkeypatch.setattr(
        SentencePiece, "decode", lambda self, rows: [text.replace("w", "v") for text in decode(self, rows)]
    )
    results = list(text_comes_back(parts))
    assert [(each.code, each.severity) for each in results] == [("D209", "warning")] * 2
    assert "source lines come back" in results[0].message


def test_a_healthy_tokenizer_gives_its_text_back(parts):
    assert list(symbols_are_apart(parts)) == []
    assert list(text_comes_back(parts)) == []
    lines = ["the small ship", "  THE\tsmall SHIP "]
    kept, lost = changed(parts.datasets.tokenizer, lines)
    assert (kept, lost) in (
        (2, []),
        (1, []),
    )  # capitals are unknown to it, and such lines are another check's


def test_letters_are_what_spelling_cannot_change():
    assert letters("Ｔｈｅ  ﬁne, Straße №1") == "thefinestrasseno1"
    assert letters("\u200b…!") == ""

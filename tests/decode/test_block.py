import pytest

from tests.decode.copying import copying
from trimtab.decode import block
from trimtab.decode.block import n_best_block, translate_block
from trimtab.decode.setup import TranslationCounts
from trimtab.errors import InputError


def test_a_line_that_was_cut_comes_back_as_one_line():
    counts = TranslationCounts()
    lines = ["short", "one two three four five six seven.", "漢字" * 12, ""]
    assert translate_block(lines, copying(max_tokens=18), counts=counts) == lines
    assert (counts.lines, counts.empty_lines, counts.cut_lines) == (4, 1, 2)
    assert counts.pieces == 1 + 4 + 3


def test_a_line_that_was_cut_has_its_prefix_once_before_its_first_piece():
    cut, whole = "one two three four five six seven.", "short"
    setup = copying(max_tokens=18)
    for prefixes in (["xy", None], ["xy", "z"], [None, "z"]):
        counts = TranslationCounts()
        found = n_best_block([cut, whole], setup, n=1, prefixes=prefixes, counts=counts)
        # The model says at each place what its source has there, whatever stands before it.
        assert [few[0].text for few in found] == [
            (prefix or "") + line[len(prefix or "") :]
            for line, prefix in zip((cut, whole), prefixes, strict=True)
        ]
        assert (counts.pieces, counts.cut_lines) == (4 + 1, 1)


def test_a_prefix_far_longer_than_its_line_stands_there_whole():
    prefix = "a prefix of twenty-nine symbols"
    (few,) = n_best_block(["b"], copying(), n=1, prefixes=[prefix])
    assert few[0].text == prefix


def test_lines_and_pieces_are_told_apart_by_their_place_in_the_whole_input(monkeypatch):
    asked = []
    monkeypatch.setattr(
        block, "n_best_rows", lambda rows, *rest, **named: asked.extend(rows) or [[]] * len(rows)
    )
    n_best_block(["one two three four five six seven.", "short"], copying(max_tokens=18), n=1, first_line=40)
    places = [(row.draw.line, row.draw.piece) for row in asked]
    assert places == [(40, 0), (40, 1), (40, 2), (40, 3), (41, 0)]
    with pytest.raises(InputError, match="prefix of line 42"):
        n_best_block(["short", "b"], copying(vocabulary=10), n=1, prefixes=["", "#" * 99], first_line=40)


def test_a_line_in_which_the_tokenizer_sees_nothing_is_empty_and_never_reaches_the_model():
    setup = copying()
    encode = setup.tokenizer.encode
    setup.tokenizer.encode = lambda lines: encode([line.replace("\u200b", "") for line in lines])
    counts = TranslationCounts()
    assert translate_block(["\u200b\u200b", "a\u200bb"], setup, counts=counts) == ["", "ab"]
    assert (counts.empty_lines, counts.pieces) == (1, 1)


def test_no_line_break_of_any_kind_is_given_out():
    (copy,) = translate_block(["a\rb\x0bc\x0cd\x1ce\x1df\x1eg\x85h\u2028i\u2029j"], copying())
    assert copy == "a b c d e f g h i j"


def test_no_lines_give_no_lines():
    assert translate_block([], copying()) == []

from tests.decode.copying import copying
from trimtab.decode.block import translate_block
from trimtab.decode.setup import TranslationCounts


def test_a_line_that_was_cut_comes_back_as_one_line():
    counts = TranslationCounts()
    lines = ["short", "one two three four five six seven.", "漢字" * 12, ""]
    assert translate_block(lines, copying(max_tokens=18), counts=counts) == lines
    assert (counts.lines, counts.empty_lines, counts.cut_lines) == (4, 1, 2)
    assert counts.pieces == 1 + 4 + 3


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

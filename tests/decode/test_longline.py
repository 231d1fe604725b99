import re

from hypothesis import given
from hypothesis import strategies as st

from tests.decode.copying import CharacterTokenizer
from tests.for_each import for_each
from trimtab.decode.longline import cut_line


def cut(line: str, *, max_tokens: int) -> list[tuple[str, str]]:
    """Glue and text of each piece; no piece is too long."""
    tokenizer = CharacterTokenizer(100_000)
    pieces = cut_line(line, tokenizer=tokenizer, max_tokens=max_tokens)
    assert all(1 < len(piece.ids) <= max_tokens for piece in pieces)
    assert all(piece.ids[-1] == tokenizer.end and tokenizer.end not in piece.ids[:-1] for piece in pieces)
    return [(piece.glue, tokenizer.decode([piece.ids])[0]) for piece in pieces]


def test_sentences_that_fit_together_stay_together():
    assert cut("One two. Three! Four five six? Seven.", max_tokens=27) == [
        ("", "One two. Three!"),
        (" ", "Four five six?"),
        (" ", "Seven."),
    ]


def test_quotes_and_brackets_behind_the_full_stop_belong_to_the_sentence():
    assert cut('He said: "One two." (Three four.) Five six.', max_tokens=30) == [
        ("", 'He said: "One two."'),
        (" ", "(Three four.)"),
        (" ", "Five six."),
    ]


def test_a_full_stop_inside_a_word_ends_nothing():
    assert cut("See trimtab.example.org now. Then 3.14 of it.", max_tokens=45) == [
        ("", "See trimtab.example.org now."),
        (" ", "Then 3.14 of it."),
    ]


def test_a_sentence_that_is_too_long_is_cut_at_spaces():
    assert cut("one two three four five six", max_tokens=18) == [
        ("", "one two"),
        (" ", "three four"),
        (" ", "five six"),
    ]


def test_a_word_that_is_too_long_is_cut_anywhere_and_joined_without_a_space():
    assert cut("a " + "x" * 12 + " b", max_tokens=9) == [
        ("", "a"),
        (" ", "xxxxx"),
        ("", "xxxxx"),
        ("", "xx"),
        (" ", "b"),
    ]


def test_sentences_without_spaces_between_them_are_joined_without_a_space():
    assert cut("これは文です。「次の文。」最後", max_tokens=12) == [
        ("", "これは文です。"),
        ("", "「次の文。」"),
        ("", "最後"),
    ]


def test_the_smallest_limit_still_loses_nothing():
    assert "".join(glue + text for glue, text in cut("ab. cd", max_tokens=2)) == "ab. cd"


@for_each("unit", ["x", "!", ".)", "。", "a.", ' "', ". ", "\u2028", "!x", "\x00"])
def test_twenty_thousand_characters_of_one_kind_are_cut_without_loss(unit):
    line = unit * (20_000 // len(unit))
    joined = "".join(text for _, text in cut(line, max_tokens=256))
    assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", line)


@given(
    line=st.text(alphabet='ab.!?。！」)" \u3000\t', max_size=120) | st.text(max_size=60),
    max_tokens=st.integers(2, 40),
)
def test_pieces_and_glue_give_the_line_back_with_its_white_space_made_single(line, max_tokens):
    pieces = cut(line, max_tokens=max_tokens)
    joined = "".join(glue + text for glue, text in pieces)
    assert re.sub(r"\s+", " ", joined).strip() == re.sub(r"\s+", " ", line).strip()

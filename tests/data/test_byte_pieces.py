from hypothesis import given
from hypothesis import strategies as st

from trimtab.data.byte_pieces import byte_model
from trimtab.data.exact_text import ExactText
from trimtab.data.sentencepiece_model import SentencePiece

BYTES = SentencePiece(byte_model(["<sep>", "<2de>"]), symbols=["<sep>", "<2de>"])


@given(st.text())
def test_the_ids_are_the_bytes_of_utf8(text):
    assert [id - 4 for id in ExactText(BYTES).ids([text])[0]] == list(text.encode())


def test_symbols_come_after_the_bytes_and_no_text_becomes_them():
    assert BYTES.num_ids == 256 + 4 + 2
    assert (BYTES.pad, BYTES.unknown, BYTES.start, BYTES.end) == (0, 1, 2, 3)
    assert (BYTES.id("<sep>"), BYTES.id("<2de>")) == (260, 261)
    assert 260 not in BYTES.encode(["<sep> <2de>"])[0]
    assert BYTES.encode_with_tags(["a"], ["<2de>"]) == [[261, 4 + ord("a"), 3]]


def test_bytes_that_are_no_character_are_told_as_such():
    assert ExactText(BYTES).decode([[4 + 0xE2, 4 + ord("a")]]) == ["\N{REPLACEMENT CHARACTER}a"]

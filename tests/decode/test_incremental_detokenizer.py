import io
from collections.abc import Sequence

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from tests.small_run import small_pairs
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.decode.incremental_detokenizer import BROKEN, IncrementalDetokenizer


class Bytes:
    """One id a byte."""

    num_ids, pad, unknown, start, end = 260, 256, 257, 258, 259

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [[*line.encode(), self.end] for line in lines]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [bytes(each for each in row if each < 256).decode(errors="replace") for row in rows]


@pytest.fixture(scope="module")
def pieces() -> SentencePiece:
    """A vocabulary that spells what it does not know in bytes."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(source for source, _ in small_pairs(300)), model_writer=written, vocab_size=300,
        byte_fallback=True, pad_id=0, unk_id=1, bos_id=2, eos_id=3, minloglevel=2,
    )  # fmt: skip
    return SentencePiece(written.getvalue())


def parts_of(tokenizer, prompt: str, text: str) -> tuple[list[str], str]:
    """What came out symbol by symbol for a text that continues from a prompt, and its whole."""
    start, ids = tokenizer.encode([prompt])[0][:-1], tokenizer.encode([prompt + text])[0][:-1]
    growing = IncrementalDetokenizer(tokenizer, start)
    parts = [growing.add(id) for id in ids[len(start) :]]
    return [*parts, growing.rest()], growing.text()


@given(prompt=st.text(max_size=5), text=st.text(max_size=20))
def test_parts_join_to_the_text_and_no_character_is_torn(prompt, text):
    parts, whole = parts_of(Bytes(), prompt, text)
    assert prompt + "".join(parts) == whole == prompt + text
    assert all(BROKEN not in part for part in parts) or BROKEN in text


def test_a_character_comes_out_with_its_last_byte():
    parts, _ = parts_of(Bytes(), "", "a✓b")
    assert parts == ["a", "", "", "✓", "b", ""]


def test_bytes_that_are_no_character_come_out_in_the_end():
    growing = IncrementalDetokenizer(Bytes(), [])
    assert [growing.add(each) for each in (0x61, 0xE2, 0x9C)] == ["a", "", ""]
    assert growing.rest() == BROKEN


def test_a_long_row_of_broken_bytes_does_not_wait_for_the_end():
    growing = IncrementalDetokenizer(Bytes(), [])
    assert "".join(growing.add(0xFF) for _ in range(50)) == BROKEN * 47
    assert growing.rest() == BROKEN * 3


@pytest.mark.parametrize("text", [" turns never", " ✓ turns", " grün 🚢 boat", ""])
def test_pieces_and_their_bytes_come_out_as_the_tokenizer_writes_them(pieces, text):
    parts, whole = parts_of(pieces, "the small ship", text)
    assert "the small ship" + "".join(parts) == whole
    assert all(BROKEN not in part for part in parts)


def test_without_a_prompt_the_first_word_has_no_space_before_it(pieces):
    parts, _ = parts_of(pieces, "", "the ship")
    assert "".join(parts) == "the ship"

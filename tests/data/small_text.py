"""Sentences made of a few words, enough of them to train a small tokenizer on, and the tokenizer."""

import functools
import random
import tempfile
from pathlib import Path

from trimtab.config.tokenizer import SentencePieceTokenizer
from trimtab.data.tokenizer import SentencePiece, train_tokenizer

_VOCABULARY = """the a small large red green old new ship boat rudder sail wind water harbour captain sailor turns pulls
pushes holds finds loses sees hears slowly quickly never always under over behind before after again together
klein groß rot grün alt neu Schiff Boot Ruder Segel Wind Wasser Hafen Kapitän dreht zieht schiebt hält findet"""


def sentences(count: int, *, seed: int = 0) -> list[str]:
    """So many sentences of 3 to 12 words."""
    draw = random.Random(seed)
    words = _VOCABULARY.split()
    return [" ".join(draw.choices(words, k=draw.randint(3, 12))).capitalize() + "." for _ in range(count)]


@functools.cache
def small_tokenizer(*, byte_fallback: bool = True) -> SentencePiece:
    """400 pieces and the tag <ui>; trained once for all tests of a process."""
    config = SentencePieceTokenizer(
        vocabulary_size=400 if byte_fallback else 144, byte_fallback=byte_fallback
    )
    with tempfile.TemporaryDirectory() as folder:
        return train_tokenizer(config, lines=sentences(600), symbols=["<ui>"], out=Path(folder))

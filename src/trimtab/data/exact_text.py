"""Text to ids and back without a change: newlines, runs of spaces and every other character come back as they were.

Translators read and write lines, and their tokenizers may make one space of several. A language model reads documents:
its sentencepiece model normalises nothing, puts no space before a text, has a piece for the newline, and spells in
bytes what has no piece.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.same_vocabulary import SameVocabulary
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.errors import InputError, input_error

NEWLINE = "\n"
_SPACE = "▁"
"""What sentencepiece writes a space as; it takes the sign itself for a space too."""
_SPACE_BYTES = tuple(f"<0x{byte:02X}>" for byte in _SPACE.encode())
_PROBES = (" a  b ", "a\nb\n\n  c", "tab\t, ﬁ ａ\u00a0", "line\r\nline\u2028line")


@dataclass(frozen=True, slots=True)
class ExactText(SameVocabulary):
    """A tokenizer for documents; see `types.Tokenizer`. What it encodes it decodes to the very same text."""

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each text, end symbol included."""
        return [[*row, self.end] for row in self.ids(lines)]

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text alone, nothing before and nothing behind them; InputError for half characters."""
        if isinstance(self.inner, FastTokenizer):
            return self.inner.ids(texts)
        plain = [row[:-1] for row in self.inner.encode(texts)]
        for number, text in enumerate(texts):
            if _SPACE in text:
                plain[number] = self._with_signs(text)
        return plain

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids, without special symbols; bytes that are no character become U+FFFD."""
        if isinstance(self.inner, FastTokenizer):
            return self.inner.decode_exactly(rows)
        return self.inner.processor.decode([[int(each) for each in row] for row in rows], num_threads=1)

    def _with_signs(self, text: str) -> list[int]:
        """Ids of a text with the sign that sentencepiece takes for a space, which is spelled in bytes."""
        sign = [self.inner.id(piece) for piece in _SPACE_BYTES]
        first, *others = [row[:-1] for row in self.inner.encode(text.split(_SPACE))]
        return first + [id for row in others for id in (*sign, *row)]


def check_exact(tokenizer: SentencePiece, *, key: str) -> None:
    """Raises InputError if texts do not come back from the tokenizer as they were; `key` is its name in a recipe."""
    exact = ExactText(tokenizer)
    for probe, back in zip(_PROBES, exact.decode(exact.ids(_PROBES)), strict=True):
        if back != probe:
            raise _changed(probe, back, key)


def _changed(text: str, back: str, key: str) -> InputError:
    return input_error(
        f"{key}.path: the tokenizer changes texts, so a language model could not reproduce what it has read",
        got=f"{text!r} comes back as {back!r}",
        allowed="a model with the normalization identity, byte_fallback, and spaces left as they are",
        fix=f"leave {key}.path out to train one, or train it with --normalization_rule_name=identity "
        "--byte_fallback=true --remove_extra_whitespaces=false --add_dummy_prefix=false",
    )

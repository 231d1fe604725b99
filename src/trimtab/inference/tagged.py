"""A tokenizer that puts tags before every line."""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.data.side_tokenizer import SideTokenizer
from trimtab.data.tokenizers import Tokenizers

CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) != "\t"}
"""Unicode's category Cc but for the tab; what ends a line is a space already."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tokenizer that puts tags before every line; see `types.Tokenizer`.

    Lines become ids of the source's vocabulary; everything else is of the target's.
    """

    inner: Tokenizers
    tags: tuple[str, ...]

    @property
    def num_ids(self) -> int:
        """Size of the vocabulary."""
        return self.inner.target.num_ids

    @property
    def pad(self) -> int:
        """Id of the padding symbol."""
        return self.inner.target.pad

    @property
    def unknown(self) -> int:
        """Id of what has no piece."""
        return self.inner.target.unknown

    @property
    def start(self) -> int:
        """Id that a translation starts from."""
        return self.inner.target.start

    @property
    def end(self) -> int:
        """Id that ends a translation."""
        return self.inner.target.end

    @property
    def unspelled(self) -> tuple[int, ...]:
        """Ids of rows that no piece has, as a pretrained model may have them."""
        return self.inner.target.unspelled if isinstance(self.inner.target, SideTokenizer) else ()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line behind the tags, end symbol included; that alone where there is nothing to be tagged."""
        rows = self.inner.source.encode_with_tags(lines, self.tags)
        return [row if len(row) > len(self.tags) + 1 else row[-1:] for row in rows]

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids, without control characters: a model that samples can spell any byte, and a terminal
        obeys some."""
        texts = self.inner.target.decode(rows)
        return [text if text.isprintable() else text.translate(CONTROLS) for text in texts]

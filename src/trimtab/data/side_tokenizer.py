"""One side of a pretrained model of transformers: its pieces, and what the model expects around those of a line."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trimtab.data.fast_tokenizer import FastTokenizer, SpecialIds, id_of, refuse_half_characters
from trimtab.data.mapped_pieces import MappedPieces
from trimtab.data.sentencepiece_model import LINE_ENDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around the pieces of a line."""

    before: tuple[int, ...] = ()
    """Ids before them, such as the code of the language."""
    behind: tuple[int, ...]
    """Ids behind them: the end symbol, and perhaps the code of the language."""
    prefix: str = ""
    """Text put before each line."""


class SideTokenizer:
    """`types.Tokenizer` for one side of a pretrained model. A line in which there is nothing is the end symbol alone,
    as with every other tokenizer."""

    def __init__(
        self, pieces: FastTokenizer | MappedPieces, *, special: SpecialIds, frame: Frame, num_ids: int
    ) -> None:
        """`num_ids` are the rows of the model, of which the tokenizer may use fewer."""
        self.pieces, self.special, self.frame, self.num_ids = pieces, special, frame, num_ids
        self.pad, self.unknown, self.start, self.end = (
            special.pad,
            special.unknown,
            special.start,
            special.end,
        )
        self.symbols: tuple[str, ...] = ()
        """Tags, which a pretrained tokenizer has none of."""
        told = json.dumps([asdict(special), asdict(frame), num_ids]).encode()
        self.fingerprint = hashlib.sha256(pieces.fingerprint.encode() + told).hexdigest()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line with what stands around it, the end symbol alone for an empty one; InputError for half
        characters."""
        return [
            [*self.frame.before, *row, *self.frame.behind] if row else [self.end] for row in self.ids(lines)
        ]

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text behind the prefix, without what stands around them; none for a text of spaces alone. What is
        spelled like a symbol is no symbol: a vocabulary of the kind unigram holds `</s>` as a piece, which is unknown
        here."""
        refuse_half_characters(texts)
        prefix = self.frame.prefix
        rows = self.pieces.ids([prefix + text for text in texts])
        symbols, unknown = self.special_ids - {self.unknown}, self.unknown
        return [
            []
            if not text.strip()
            else row
            if symbols.isdisjoint(row)
            else [unknown if id in symbols else id for id in row]
            for row, text in zip(rows, texts, strict=True)
        ]

    def encode_with_tags(self, lines: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
        """As `encode`; InputError for tags, of which it knows none."""
        for tag in tags:
            self.id(tag)
        return self.encode(lines)

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids, without special symbols; never holds anything that ends a line."""
        return [LINE_ENDS.sub(" ", text) for text in self.decode_exactly(rows)]

    def decode_exactly(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids as it is, without special symbols."""
        if isinstance(self.pieces, MappedPieces):
            return self.pieces.decode_exactly(rows, skipped=self.special_ids)
        kept = [[int(id) for id in row if int(id) not in self.special_ids] for row in rows]
        return self.pieces.decode_exactly(kept)

    def piece(self, id: int) -> str:
        """How an id is spelled in the vocabulary; empty for an id beyond it."""
        return self.pieces.piece(id)

    def id(self, piece: str, *, tags: Sequence[str] | None = None) -> int:
        """The id of a piece; InputError if there is none. It knows no tags."""
        return id_of(piece, self.pieces.token_to_id(piece))

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of all symbols: those of a line's frame and those that the tokenizer names."""
        own = {*asdict(self.special).values(), *self.frame.before, *self.frame.behind}
        return frozenset(own | self.pieces.added_symbols)

    @cached_property
    def unspelled(self) -> tuple[int, ...]:
        """Ids of rows that no piece has, which no search should write."""
        return tuple(id for id in range(self.pieces.num_pieces, self.num_ids))

    @cached_property
    def is_byte(self) -> np.ndarray:
        """For each id, whether it is a single byte of what has no piece of its own (byte fallback)."""
        spelled = (self.piece(id) for id in range(self.num_ids))
        return np.array([re.fullmatch(r"<0x[0-9A-F]{2}>", piece) is not None for piece in spelled], bool)

    @property
    def num_pieces(self) -> int:
        """Ids that have a spelling."""
        return self.pieces.num_pieces

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.pieces, self.special, self.frame, self.num_ids)


def _again(
    pieces: FastTokenizer | MappedPieces, special: SpecialIds, frame: Frame, num_ids: int
) -> SideTokenizer:
    return SideTokenizer(pieces, special=special, frame=frame, num_ids=num_ids)

"""Sentencepiece models whose pieces have ids of another table: the tokenizers of Marian and of M2M100."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceProcessor

from trimtab.data.sentencepiece_model import load_processor
from trimtab.errors import input_error

SPACE = "▁"


class MappedPieces:
    """A sentencepiece model, which splits text, and a table that gives each piece its id. What the table does not have
    is unknown. Pickled as both."""

    def __init__(
        self,
        model: bytes,
        table: Mapping[str, int],
        *,
        unknown: int,
        symbols: frozenset[int] = frozenset(),
        name: str,
    ) -> None:
        """`symbols` are the ids of the table that are no text, such as the codes of languages. Raises InputError if
        `model` is no sentencepiece model; `name` is that of its file."""
        self.model, self.table, self.unknown, self.name = model, dict(table), unknown, name
        self.added_symbols = symbols
        self._processor: SentencePieceProcessor = load_processor(model, name=name)
        self._pieces = {id: piece for piece, id in self.table.items()}
        told = json.dumps(sorted(self.table.items())).encode()
        self.fingerprint = hashlib.sha256(hashlib.sha256(model).digest() + told).hexdigest()

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, nothing before and nothing behind them."""
        split = self._processor.encode(list(texts), out_type=str, num_threads=1)
        return [[self.table.get(piece, self.unknown) for piece in row] for row in split]

    def decode_exactly(self, rows: Sequence[Sequence[int]], *, skipped: frozenset[int]) -> list[str]:
        """Text of each row of ids without those that are skipped."""
        pieces = [[self.piece(int(id)) for id in row if int(id) not in skipped] for row in rows]
        # A piece of the other side's model is spelled here as it stands.
        texts = self._processor.decode(pieces, num_threads=1)
        return [text.replace(SPACE, " ").strip() for text in texts]

    def piece(self, id: int) -> str:
        """How an id is spelled; empty for one that the table does not have."""
        return self._pieces.get(id, "")

    def token_to_id(self, piece: str) -> int | None:
        """The id of a piece; None if there is none."""
        return self.table.get(piece)

    @property
    def num_pieces(self) -> int:
        """One more than the largest id."""
        return max(self._pieces, default=-1) + 1

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.model, self.table, self.unknown, self.added_symbols, self.name)


def _again(
    model: bytes, table: dict[str, int], unknown: int, symbols: frozenset[int], name: str
) -> MappedPieces:
    return MappedPieces(model, table, unknown=unknown, symbols=symbols, name=name)


def read_table(content: bytes, path: Path) -> dict[str, int]:
    """Pieces and ids of a vocab.json; InputError if it is none."""
    try:
        found = json.loads(content)
        if not isinstance(found, dict) or not found:
            raise ValueError("no object with pieces")
        wrong = [piece for piece, id in found.items() if type(id) is not int or not 0 <= id < 2**31]
        if wrong or len(set(found.values())) < len(found):
            raise ValueError(f"{wrong[0]!r} has no id" if wrong else "pieces that share an id")
    except (ValueError, RecursionError) as error:
        raise input_error(
            f"{path}: not a vocabulary",
            got=str(error)[:200],
            allowed="an object that gives each piece its id",
            fix="download the file again",
        ) from None
    return found

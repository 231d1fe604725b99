"""What a tokenizer must be able to do."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Tokenizer(Protocol):
    """Text to ids and back; ids of one encoding end with the end symbol."""

    @property
    def num_ids(self) -> int:
        """Size of the vocabulary."""
        ...

    @property
    def pad(self) -> int:
        """Id of the padding symbol."""
        ...

    @property
    def unknown(self) -> int:
        """Id of what has no other."""
        ...

    @property
    def start(self) -> int:
        """Id that a decoder is fed first."""
        ...

    @property
    def end(self) -> int:
        """Id that ends a text."""
        ...

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, end symbol included."""
        ...

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids; special symbols are left out."""
        ...

"""What every format of a corpus gives: pairs of strings by number, read in place."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from trimtab.errors import Problem, input_error


@runtime_checkable
class Pairs(Protocol):
    """Pairs of strings, numbered from 0. Holds no text, only maps of files; may be pickled."""

    @property
    def fingerprint(self) -> str:
        """sha256 of what the files hold and how they are read."""
        ...

    def __len__(self) -> int: ...

    def pair(self, line: int) -> tuple[str, str]:
        """Source and target of a line; InputError with file, line (from 1) and column where it is malformed."""
        ...

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these lines, in their order; many are read at a time where the format allows.

        The InputError of a malformed line comes when it is its turn.
        """
        ...

    def before(self, line: int, count: int) -> list[tuple[str, str]]:
        """At most `count` pairs before a line in its document, in their order; none where there are no documents."""
        ...

    def num_bytes(self, line: int) -> int:
        """Bytes that must be read for a line, of its longer side where they have files of their own; 0 where only
        reading shows it."""
        ...

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The lines, from 0, of which more bytes must be read; nothing of them is."""
        ...

    def place(self, line: int) -> str:
        """`file:line` of a pair (of its source, where the sides have files of their own), counted from 1, as an editor
        shows it; `file, row N` where the file has no lines."""
        ...

    def raw(self, line: int) -> bytes:
        """The line of the file that holds a pair, as it is, both sides with a tab between them where each has a file;
        empty where the format has no lines."""
        ...

    @property
    def passed_over(self) -> Mapping[str, int]:
        """Units of the file that are no pairs, such as those without a translation, by reason."""
        ...

    @property
    def empty_documents(self) -> list[int]:
        """The lines, from 0, of documents without a text, which nothing is learned from."""
        ...

    @property
    def broken_documents(self) -> list[tuple[int, Problem]]:
        """The lines, from 1, of documents that cannot be read, with what is wrong with each."""
        ...


class PlainPairs:
    """The base of formats: what those give that have no documents, pass nothing over and keep no lines."""

    __slots__ = ()

    def before(self, line: int, count: int) -> list[tuple[str, str]]:
        """None: the lines are no documents."""
        return []

    def raw(self, line: int) -> bytes:
        """Empty: the file has no lines."""
        return b""

    @property
    def passed_over(self) -> Mapping[str, int]:
        """Nothing."""
        return {}

    @property
    def empty_documents(self) -> list[int]:
        """None."""
        return []

    @property
    def broken_documents(self) -> list[tuple[int, Problem]]:
        """None."""
        return []


@dataclass(frozen=True, slots=True)
class PairFile:
    """A format in which one file holds both sides, for `pairs` of a corpus."""

    suffixes: tuple[str, ...]
    """What its files end with, before the suffix of a compression."""
    open: Callable[..., Pairs]
    """`open(path, source=, target=, cache=)`: the two columns of a file."""
    is_compressed: bool = True
    """Whether .gz, .xz and .zst may follow."""
    has_states: bool = False
    """Whether its units say how far their translation is, so that `open` also takes `states`, those that are read."""


def field_names(path: Path, *, source: str | int, target: str | int) -> tuple[str, str]:
    """The names of two fields of a JSON object; InputError for a number, which names a column of a TSV."""
    for side, name in (("source", source), ("target", target)):
        if isinstance(name, int):
            raise input_error(
                f"{side}: got the number {name}, but {path} has fields with names",
                got=str(name),
                allowed="a name",
                fix="write the name of the field; numbers are for columns of a TSV",
            )
    return str(source), str(target)

"""Arguments of a call in a script, read when they are asked for: most calls of a script interest no rule."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

from trimtab.checks.document import Call, Entry


class Arguments(Mapping[str, Entry]):
    """Arguments by name."""

    __slots__ = ("_entries", "_read")

    def __init__(self, read: Callable[[], dict[str, Entry]]) -> None:
        self._read: Callable[[], dict[str, Entry]] | None = read
        self._entries: dict[str, Entry] = {}

    def settled(self) -> dict[str, Entry]:
        """All of them, read; what they are read from is let go."""
        if self._read is not None:
            self._entries, self._read = self._read(), None
        return self._entries

    def __getitem__(self, key: str) -> Entry:
        return self.settled()[key]

    def __contains__(self, key: object) -> bool:
        return key in self.settled()

    def __iter__(self) -> Iterator[str]:
        return iter(self.settled())

    def __len__(self) -> int:
        return len(self.settled())


class Positional(Sequence[Any]):
    """Values of arguments by position; how many there are is known from the start."""

    __slots__ = ("_length", "_read", "_values")

    def __init__(self, length: int, read: Callable[[], tuple[Any, ...]]) -> None:
        self._length = length
        self._read: Callable[[], tuple[Any, ...]] | None = read
        self._values: tuple[Any, ...] = ()

    def settled(self) -> tuple[Any, ...]:
        """All of them, read."""
        if self._read is not None:
            self._values, self._read = self._read(), None
        return self._values

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.settled()[index]

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        return self.settled() == (other.settled() if isinstance(other, Positional) else other)

    __hash__ = None  # type: ignore[assignment]


def settle(call: Call) -> Call:
    """The same call with all of its arguments read."""
    if isinstance(call.arguments, Arguments):
        call.arguments.settled()
    if isinstance(call.positional, Positional):
        call.positional.settled()
    return call

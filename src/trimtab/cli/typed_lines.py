"""Lines that a person types: a prompt before each, on stderr, so that the terminal does not look as if it hung."""

import sys
from pathlib import Path
from typing import Protocol, runtime_checkable

PROMPT = "> "


def is_typed(source: Path | None) -> bool:
    """Whether the input is a terminal."""
    return source is None and sys.stdin is not None and sys.stdin.isatty()


@runtime_checkable
class ReadsLines(Protocol):
    """What is needed of standard input."""

    def readline(self, size: int, /) -> bytes:
        """Bytes up to and with the next line feed, at most `size`; none at the end."""
        ...


class TypedLines:
    """A terminal that asks for each line; see `decode.reading.BinaryLines`."""

    def __init__(self, lines: ReadsLines) -> None:
        self._lines = lines

    def readline(self, size: int, /) -> bytes:
        """The next line, after a prompt; the prompt's line ends where the input does."""
        print(PROMPT, end="", file=sys.stderr, flush=True)
        line = self._lines.readline(size)
        if not line:
            print(file=sys.stderr)
        return line


def typed(lines: ReadsLines) -> TypedLines:
    """The lines of a terminal, with a prompt before each."""
    print("Type a line and the return key; Ctrl-D ends.", file=sys.stderr)
    return TypedLines(lines)

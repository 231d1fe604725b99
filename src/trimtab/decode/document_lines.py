"""Reads documents from lines of text: blocks between empty lines, or one JSON list of sentences per line."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from trimtab.errors import InputError, input_error

FIELD = "src"
"""Where an object has its sentences."""


def text_documents(lines: Iterable[str]) -> Iterator[Iterator[str]]:
    """The lines between empty ones, each read when it is asked for; every empty line ends a document.

    A document must be read to its end before the next one is taken.
    """
    remaining = iter(lines)
    while True:
        block = _Block(remaining)
        yield block
        if block.is_last:
            return


class _Block:
    """The lines up to the next empty one."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines
        self.is_open, self.is_last = True, False

    def __iter__(self) -> "_Block":
        return self

    def __next__(self) -> str:
        if self.is_open:
            line = next(self.lines, None)
            self.is_last = line is None
            self.is_open = line is not None and line.strip() != ""
            if line is not None and self.is_open:
                return line
        raise StopIteration


def json_documents(lines: Iterable[str], *, name: str = "input") -> Iterator[tuple[Any, list[str]]]:
    """The content of each line, and the sentences in it: a list of them, or an object that has one as `src`.

    Raises InputError, with the line, where there is no such list.
    """
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            # Of what is JSON, Python refuses integers of more digits than it turns into a number, and nothing else.
            is_long = isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError)
            got = "a number of too many digits" if is_long else f"no valid JSON: {error}"[:200]
            raise _problem(name, number, got=got) from None
        sentences = value.get(FIELD) if isinstance(value, dict) else value
        if not isinstance(sentences, list) or not all(isinstance(each, str) for each in sentences):
            raise _problem(name, number, got=type(sentences).__name__)
        yield value, sentences


def json_line(value: Any, translation: list[str]) -> str:
    """The translation of a document in the form that the document had: a list, or the object with `translation`."""
    filled = {**value, "translation": translation} if isinstance(value, dict) else translation
    return json.dumps(filled, ensure_ascii=False)


def _problem(name: str, number: int, *, got: str) -> InputError:
    return input_error(
        f"{name}: line {number} is no document",
        got=got,
        allowed=f'a list of sentences, or an object with one: {{"{FIELD}": ["...", "..."]}}',
        fix="repair the line; for text with an empty line between documents, use --documents text",
        where=f"{name}:{number}",
    )

"""Conversations of a JSONL file, of which a model learns the answers: `messages`, or `prompt` and `completion`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from trimtab.data.formats.chat import Conversation, conversation_of, written
from trimtab.data.formats.json_line import has_half_character, read_json
from trimtab.data.formats.passage import Passage
from trimtab.data.formats.passages import DOCUMENT, Passages, cut_in_passages
from trimtab.data.formats.text import text_of
from trimtab.data.lines import Lines, open_lines
from trimtab.errors import InputError, input_error

SHAPES = '{"messages": [{"role": "user", "content": "..."}, ...]}, or {"prompt": "...", "completion": "..."}'
CHECKED = "roles"
"""What is looked at besides the shape, in tables of lines that are kept."""


@dataclass(frozen=True, slots=True)
class Conversations:
    """Each line a conversation; see `ReadsDocuments`, for which it is a document written out in ChatML."""

    lines: Lines

    kind: ClassVar[str] = "conversations"

    def cut(self, most: int) -> Iterator[tuple[int, int, int]]:
        """Every line that is not blank, whole. Reads each; InputError, with the line, for one without a
        conversation."""
        for line in range(len(self.lines)):
            if text_of(self.lines, line).strip():
                yield 0, len(written(self.conversation(line).messages).encode()), line

    def read(self, places: np.ndarray, number: int) -> Passage:
        """See `ReadsDocuments`."""
        return Passage(written(self.conversation(self.line_of(places[number])).messages), "", ends=True)

    def line_of(self, place: np.ndarray) -> int:
        """See `ReadsDocuments`."""
        return int(place[DOCUMENT])

    def conversation(self, line: int) -> Conversation:
        """That of a line, from 0; InputError if it holds none."""
        text = text_of(self.lines, line)
        try:
            fields: Any = read_json(text)
            if not isinstance(fields, dict):
                raise ValueError("no JSON object")
            if has_half_character(text) or any(has_half_character(each) for each in _texts(fields)):
                raise ValueError("half a character, a lone \\ud800-\\udfff")
            return conversation_of(fields)
        except (ValueError, RecursionError) as error:
            raise self._problem(line, str(error)) from None

    def _problem(self, line: int, got: str) -> InputError:
        return input_error(
            f"{self.lines.path}:{line + 1} has no conversation that can be read",
            got=got[:200],
            allowed=SHAPES,
            fix="repair or remove the line, or leave `learn: answers` out for documents",
        )


def open_conversations(path: Path, *, cache: Path) -> Passages:
    """The conversations of a .jsonl file (plain, .gz, .xz or .zst). Every line is read once; later openings find it in
    the cache. Raises InputError, with the line, for one without a conversation."""
    lines = open_lines(path, cache=cache)
    return cut_in_passages(
        Conversations(lines),
        most=1,
        cache=cache,
        fingerprint=f"conversations {lines.fingerprint}",
        checked=CHECKED,
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for part in value.values() for text in _texts(part))
    elif isinstance(value, list):
        yield from (text for part in value for text in _texts(part))

"""One file with a JSON object a line; source and target are two of its fields, or of those of objects inside."""

import difflib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.data.formats.chat import TOOLS, chat_field, chat_text
from trimtab.data.formats.json_line import FIELD, field_at, field_paths, has_half_character, read_json
from trimtab.data.formats.not_text import advice_for
from trimtab.data.formats.pairs import PairFile, PlainPairs, field_names
from trimtab.data.formats.text import text_of, texts_of
from trimtab.data.lines import Lines, open_lines
from trimtab.errors import InputError, input_error

_REPAIR = "repair or remove the line"


@dataclass(frozen=True, slots=True)
class JsonlPairs(PlainPairs):
    """The pairs of two fields."""

    lines: Lines
    source: str
    target: str
    fingerprint: str

    def __len__(self) -> int:
        return len(self.lines)

    def num_bytes(self, line: int) -> int:
        """Of the whole line."""
        return self.lines.num_bytes(line)

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """The lines, from 0, that have more bytes."""
        return self.lines.longer_than(num_bytes)

    def pair(self, line: int) -> tuple[str, str]:
        """The two fields, both empty for a blank line; InputError if the line is no object or a field is missing or not
        text."""
        return self._fields(line, text_of(self.lines, line))

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these lines, in their order, read many at a time."""
        return map(self._fields, lines, texts_of(self.lines, lines))

    def raw(self, line: int) -> bytes:
        """The line with all its fields."""
        return self.lines[line]

    def place(self, line: int) -> str:
        """See `Pairs`."""
        return f"{self.lines.path}:{line + 1}"

    def _fields(self, line: int, text: str) -> tuple[str, str]:
        if not text or text.isspace():
            return "", ""
        try:
            fields = read_json(text)
        except (ValueError, RecursionError) as error:
            raise self._broken(line, error) from None
        if not isinstance(fields, dict):
            raise self._problem(
                line, "is no JSON object", got=_json_kind(fields), allowed='{"...": "..."}', fix=_REPAIR
            )
        if self.source == self.target == FIELD not in fields and (name := chat_field(fields)):
            fields = {FIELD: self._chat(line, fields[name], fields.get(TOOLS))}
        return self._field(line, fields, self.source), self._field(line, fields, self.target)

    def _chat(self, line: int, messages: Any, tools: Any) -> str:
        try:
            return chat_text(messages, tools)
        except ValueError as error:
            raise self._problem(
                line,
                "has a conversation that cannot be read",
                got=str(error),
                allowed='[{"role": "user", "content": "..."}, ...], or `from` and `value`',
                fix=_REPAIR,
            ) from None

    def _field(self, line: int, fields: dict[str, Any], name: str) -> str:
        try:
            value = field_at(fields, name)
        except KeyError:
            raise self._missing(line, fields, name) from None
        if isinstance(value, str):
            if has_half_character(value):
                raise self._problem(
                    line,
                    f"has half a character in the field {name!r}",
                    got="a lone \\ud800-\\udfff",
                    allowed="whole characters",
                    fix=_REPAIR,
                )
            return value
        inside = [path for path in field_paths(fields) if path.startswith(f"{name}.")]
        raise self._problem(
            line,
            f"has no text in the field {name!r}",
            got=_json_kind(value),
            allowed="a string",
            fix=f"name a field inside, such as {inside[0]}" if inside else _REPAIR,
        )

    def _missing(self, line: int, fields: dict[str, Any], name: str) -> InputError:
        paths = field_paths(fields)
        near = difflib.get_close_matches(name, paths, n=max(1, len(paths)), cutoff=0.0)
        likely = bool(difflib.get_close_matches(name, paths, n=1))
        return self._problem(
            line,
            f"has no field {name!r}",
            got=", ".join(near)[:300] or "no fields",
            allowed="both fields in every line" if self.source != self.target else f"{name!r} in every line",
            fix=_REPAIR
            if self._first_has(line, name)
            else self._mended(name, near[0] if likely else "", fields),
        )

    def _first_has(self, line: int, name: str) -> bool:
        """Whether the first line has the field, so that the name is right and another line is broken."""
        if line == 0 or self.source == self.target:
            return False
        try:
            field_at(read_json(text_of(self.lines, 0)), name)
        except (InputError, KeyError, TypeError, ValueError, RecursionError):
            return False
        return True

    def _mended(self, name: str, likely: str, fields: dict[str, Any]) -> str:
        """What to do where a field is missing; that of a document has one name."""
        if self.source != self.target:
            return f"did you mean {likely}?" if likely else "name existing fields, or remove the line"
        if advice := advice_for(list(fields)):
            return advice
        renamed = f"rename {likely!r} to {name!r}" if likely else f"put the document into a field {name!r}"
        return f"{renamed}, or remove the line"

    def _broken(self, line: int, error: Exception) -> InputError:
        column = error.colno if isinstance(error, json.JSONDecodeError) else 1
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return self._problem(
            line,
            "is not valid JSON",
            got=f"{said}, at column {column}",
            allowed="a JSON object",
            fix=_REPAIR,
            column=column,
        )

    def _problem(
        self, line: int, what: str, *, got: str = "", allowed: str = "", fix: str = "", column: int = 1
    ) -> InputError:
        path = self.lines.path
        return input_error(
            f"{path}: line {line + 1} {what}",
            got=got,
            allowed=allowed,
            fix=fix,
            where=f"{path}:{line + 1}:{column}",
        )


def open_jsonl(path: Path, *, source: str | int, target: str | int, cache: Path) -> JsonlPairs:
    """The file, opened; the fields are looked for when a line is read."""
    names = field_names(path, source=source, target=target)
    lines = open_lines(path, cache=cache)
    key = json.dumps(["jsonl", lines.fingerprint, *names])
    return JsonlPairs(lines, *names, hashlib.sha256(key.encode()).hexdigest())


def _json_kind(value: Any) -> str:
    for kind, name in (
        (bool, "true or false"),
        (int | float, "a number"),
        (list, "an array"),
        (dict, "an object"),
        (str, "a string"),
    ):
        if isinstance(value, kind):
            return name
    return "null"


FORMAT = PairFile((".jsonl", ".ndjson"), open_jsonl)

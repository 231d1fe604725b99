"""One line of JSON, read for its texts."""

import json
import re
from typing import Any

from trimtab.data.lines import Lines

FIELD = "text"
"""The field of a JSONL file that is a document."""

_HEAD_BYTES = 256
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_BYTE_ORDER_MARK = "\ufeff".encode()
# Numbers are never looked at, and an integer may have more digits than Python turns into one.
_DECODER = json.JSONDecoder(parse_int=float)


def read_json(text: str) -> Any:
    """The value of a line, every number a float; ValueError or RecursionError if it is no JSON."""
    return _DECODER.decode(text)


def field_at(fields: dict[str, Any], name: str) -> Any:
    """The value of a field of an object, by its name, or of one in an object inside, by a path: `translation.en` is
    `en` in `translation`. A name with a dot in it that is there comes first; KeyError where there is none."""
    if name in fields:
        return fields[name]
    for dot in (place for place, character in enumerate(name) if character == "."):
        inner = fields.get(name[:dot])
        if isinstance(inner, dict):
            try:
                return field_at(inner, name[dot + 1 :])
            except KeyError:
                continue
    raise KeyError(name)


def field_paths(fields: dict[str, Any]) -> list[str]:
    """The names of all fields as `field_at` takes them, those of objects inside too; for messages."""
    paths: list[str] = []
    for name, value in fields.items():
        inner = field_paths(value) if isinstance(value, dict) else []
        paths += [f"{name}.{path}" for path in inner] or [str(name)]
    return paths


def has_half_character(text: str) -> bool:
    """Whether a string that was read from JSON has a lone surrogate in it, which is no character and no UTF-8."""
    return not text.isascii() and _HALF_CHARACTER.search(text) is not None


def is_document_object(lines: Lines, number: int) -> bool:
    """Whether a line, from 0, is a JSON object with a string as `text`, so that its file is JSONL under any name.

    A byte order mark before it does not count; a long line that does not begin like an object is not read whole.
    """
    start = lines.start(number)
    if not _bare(lines.between(start, start + _HEAD_BYTES)).startswith(b"{"):
        return False
    line = _bare(lines[number])
    try:
        value = read_json(line.decode("utf-8"))
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        return False
    return isinstance(value, dict) and isinstance(value.get(FIELD), str)


def _bare(line: bytes) -> bytes:
    return line.removeprefix(_BYTE_ORDER_MARK).lstrip()

"""How long the rows of a data set are, from the beginning of its file: an estimate of how many tokens a batch holds."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from trimtab.checks.conversion.data_sets import CHAT_FIELDS, DataSet
from trimtab.checks.kinds.signs import mapping

BYTES_PER_TOKEN = 4
"""Of English text in the vocabularies of today's language models; other languages have fewer."""
MOST_BYTES = 2_000_000
MOST_ROWS = 500
ANSWERING = frozenset({"assistant", "gpt"})


@dataclass(frozen=True, slots=True)
class RowSizes:
    """Means over the rows that were read."""

    tokens: float
    """Of a whole row."""
    counted: float
    """Of its answers, or of all of it where everything is learned."""
    rows: int


def row_sizes(data: DataSet, *, learn: str) -> RowSizes | None:
    """The sizes of a file's rows; None where it cannot be read from here."""
    found = [
        (whole, whole if learn == "all" else answers)
        for row in _rows(data)
        if (whole := len("".join(_texts(data, row)).encode("utf-8", "replace")))
        and (answers := len("".join(_answers(data, row)).encode("utf-8", "replace")))
    ]
    if not found:
        return None
    whole, counted = (sum(each[part] for each in found) / len(found) / BYTES_PER_TOKEN for part in (0, 1))
    return RowSizes(whole + 1, counted + 1, len(found))  # and the symbol that ends it


def _rows(data: DataSet) -> Iterator[Mapping[str, Any]]:
    if not data.name.endswith((".jsonl", ".json")) or not data.is_file:
        return
    try:
        with data.path.open("rb") as file:
            begun = file.read(MOST_BYTES)
    except OSError:
        return
    text = begun.decode("utf-8", "replace")
    if text.lstrip().startswith("["):
        yield from _of_list(text)
        return
    for line in text.splitlines()[:MOST_ROWS]:
        try:
            yield mapping(json.loads(line))
        except (ValueError, RecursionError):
            continue  # blank, broken, or cut off by the limit


def _of_list(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, of which only the beginning may be there."""
    decoder, place = json.JSONDecoder(), text.index("[") + 1
    for _ in range(MOST_ROWS):
        rest = len(text) - len(text[place:].lstrip(" \t\r\n,"))
        try:
            found, place = decoder.raw_decode(text, rest)
        except (ValueError, RecursionError):
            return
        yield mapping(found)


def _messages(data: DataSet, row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    value = row.get({**CHAT_FIELDS, **data.fields}["messages"])
    return [mapping(each) for each in cast("list[Any]", value)] if isinstance(value, list) else []


def _texts(data: DataSet, row: Mapping[str, Any]) -> Iterator[str]:
    """All that is read of a row."""
    if data.form == "chats":
        content = {**CHAT_FIELDS, **data.fields}["content"]
        yield from (str(each.get(content) or "") for each in _messages(data, row))
    else:
        yield from (str(row.get(name) or "") for name in data.fields.values())


def _answers(data: DataSet, row: Mapping[str, Any]) -> Iterator[str]:
    """What the model has to write."""
    named = {**CHAT_FIELDS, **data.fields}
    if data.form == "chats":
        for each in _messages(data, row):
            role = str(each.get(named["role"]))
            if role in ANSWERING or data.roles.get(role) == "assistant":
                yield str(each.get(named["content"]) or "")
    elif data.form in ("instructions", "texts"):
        yield str(row.get(named.get("output", named.get("text", "text"))) or "")

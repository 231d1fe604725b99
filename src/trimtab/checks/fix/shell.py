"""Edits of the options of a command line: `--key value`, `--key=value`, `key=value`."""

import json
import shlex
from typing import Any, cast

from trimtab.checks.document import Document
from trimtab.checks.edits import AddKey, Edit, RemoveKey, RenameKey, SetValue
from trimtab.checks.fix.arguments import offset, target
from trimtab.checks.fix.mapping import Cut, newline_of
from trimtab.checks.fix.tree import CannotMend, added_name, new_name
from trimtab.checks.place import Place


def edit_shell(text: str, document: Document, edit: Edit, at: Place) -> str:
    """The text of a shell script with one edit made."""
    _, entry = target(document, edit, at)
    start, end = _span(text, entry.place)
    value_start, value_end = _span(text, entry.value_place) if entry.value_place.end_line else (end, end)
    value_end = max(value_end, end)
    option = text[start:end]
    match edit:
        case SetValue():
            if value_start == value_end or value_start < end:
                raise CannotMend("the option has no value of its own")
            cut = Cut(value_start, value_end, _written(edit.value))
        case RenameKey():
            if option[:1] == "-" and option[:2] != "--":
                return Cut(start, end, f"--{new_name(edit)}").applied(text)
            name = entry.key.rpartition(".")[2]
            old = next((form for form in (name, name.replace("_", "-")) if form in option), None)
            if old is None:
                raise CannotMend("the option is not written in the form that is expected here")
            begin = start + option.index(old)
            cut = Cut(begin, begin + len(old), new_name(edit))
        case RemoveKey():
            cut = _remove(text, start, value_end)
        case AddKey():
            dashes = "--" if option[:1] == "-" else ""
            sign = "=" if "=" in (option[-1:], text[end : end + 1]) else " "
            cut = _add(text, start, value_end, f"{dashes}{added_name(edit)}{sign}{_written(edit.value)}")
    return cut.applied(text)


def _written(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(_written(item) for item in cast(list[Any], value))
    if isinstance(value, dict):
        return shlex.quote(json.dumps(value))
    return shlex.quote("" if value is None else str(value))


def _span(text: str, place: Place) -> tuple[int, int]:
    if not place.end_line:
        raise CannotMend("nobody knows where the option ends")
    return offset(text, place.line, place.column), offset(text, place.end_line, place.end_column)


def _remove(text: str, start: int, end: int) -> Cut:
    begin = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    if not text[begin:start].strip() and text[end:line_end].strip() == "\\":
        return Cut(begin, line_end + 1)  # a line of its own, and the command continues behind it
    while start and text[start - 1] in " \t":
        start -= 1
    if not text[start:end].strip() or start > begin:
        return Cut(start, end)
    # The last line of the command: the line before ends it now.
    before = text[:begin].rstrip("\r\n")
    if not before.endswith("\\"):
        return Cut(start, end)
    return Cut(len(before[:-1].rstrip()), end)


def _add(text: str, start: int, end: int, written: str) -> Cut:
    begin = text.rfind("\n", 0, start) + 1
    indent = text[begin:start]
    if indent.strip() or not indent:
        return Cut(end, end, " " + written)
    return Cut(end, end, f" \\{newline_of(text)}{indent}{written}")

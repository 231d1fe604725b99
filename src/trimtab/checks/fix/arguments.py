"""Which call of a script, or which command of a line, an edit is about."""

from trimtab.checks.document import Call, Document, Entry
from trimtab.checks.edits import AddKey, Edit
from trimtab.checks.fix.tree import CannotMend
from trimtab.checks.place import Place


def target(document: Document, edit: Edit, at: Place) -> tuple[Call, Entry]:
    """The call and its argument that an edit names; where several calls have it, the one at the finding."""
    key = edit.after if isinstance(edit, AddKey) else edit.key
    if document.syntax == "shell" and (short := _short(document, key, at)):
        return short
    having = [(call, entry) for call in document.calls if (entry := argument(call, key)) is not None]
    if not having:
        raise CannotMend(f"`{key}` is not written in this file")
    exact = [pair for pair in having if _stands(pair[1], at)]
    if exact:
        return exact[0]
    if len(having) == 1:
        return having[0]
    before = [pair for pair in having if (pair[0].place.line, pair[0].place.column) <= (at.line, at.column)]
    if not before:
        raise CannotMend(f"`{key}` is written in several calls")
    return before[-1]


def argument(call: Call, key: str) -> Entry | None:
    """An argument by its name, or by the last part of a dotted one."""
    names = (key, key.rpartition(".")[2], key.replace("-", "_"))
    return next((call.arguments[name] for name in names if name in call.arguments), None)


def _short(document: Document, key: str, at: Place) -> tuple[Call, Entry] | None:
    """An option of one or two letters at the finding, where no call has the key, which is its long name."""
    if any(argument(call, key) is not None for call in document.calls):
        return None
    found = ((call, entry) for call in document.calls for entry in call.arguments.values())
    return next((pair for pair in found if _stands(pair[1], at) and len(pair[1].key) <= 3), None)


def offset(text: str, line: int, column: int) -> int:
    """The character at a line and a column, both from 1."""
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return start + column - 1


def _stands(entry: Entry, at: Place) -> bool:
    return (entry.place.line, entry.place.column) == (at.line, at.column)

"""One edit of one file: its new text, and what should have become of its values."""

from typing import Any, cast

from trimtab.checks.document import UNKNOWN, Call, Document, Entry
from trimtab.checks.edits import AddKey, Edit, RemoveKey, RenameKey, SetValue
from trimtab.checks.fix.arguments import target
from trimtab.checks.fix.tree import CannotMend, added_name, edited, new_name
from trimtab.checks.place import Place


def applied(text: str, document: Document, edit: Edit, at: Place) -> str:
    """The text with the edit made; raises CannotMend where that is not plain."""
    if document.path.endswith(".ipynb"):
        raise CannotMend("notebooks are left to their editor")
    match document.syntax:
        case "yaml" | "json":
            from trimtab.checks.fix import json, yaml
            from trimtab.checks.fix.mapping import edit_mapping

            return edit_mapping(text, edit, yaml if document.syntax == "yaml" else json)
        case "python":
            from trimtab.checks.fix.python import edit_python

            return edit_python(text, document, edit, at)
        case "shell":
            from trimtab.checks.fix.shell import edit_shell

            return edit_shell(text, document, edit, at)


def meaning(document: Document) -> Any:
    """All values of a file, without text and places."""
    if document.syntax in ("yaml", "json"):
        return document.tree
    return [[call.name, call.qualifier, _values(document, call)] for call in document.calls]


def expected(document: Document, edit: Edit, at: Place) -> Any:
    """What `meaning` has to be once the edit is made; raises CannotMend where it has no meaning."""
    if document.syntax in ("yaml", "json"):
        return edited(document.tree, edit)
    _, entry = target(document, edit, at)
    calls: list[Any] = []
    num_readers = 0
    for call in document.calls:
        values = _values(document, call)
        name = next((name for name, each in call.arguments.items() if each.place == entry.place), None)
        if name is not None:  # `dict(...)` and the call that takes it by `**` have it both
            num_readers += call.name != "dict"
            values = _edited(document, values, name, edit)
        calls.append([call.name, call.qualifier, values])
    if num_readers > 1:
        raise CannotMend(f"several calls take what line {entry.place.line} says; change it by hand")
    return calls


def _edited(document: Document, values: dict[str, Any], name: str, edit: Edit) -> dict[str, Any]:
    pairs = list(values.items())
    index = list(values).index(name)
    match edit:
        case SetValue():
            pairs[index] = (name, _value(document, edit.value))
        case RenameKey():
            pairs[index] = (_name(document, new_name(edit)), pairs[index][1])
        case RemoveKey():
            del pairs[index]
        case AddKey():
            pairs.insert(index + 1, (_name(document, added_name(edit)), _value(document, edit.value)))
    if len(dict(pairs)) < len(pairs):
        raise CannotMend("an argument of that name is there already")
    return dict(pairs)


def _name(document: Document, name: str) -> str:
    """A command line is read with underscores, however its options are spelled."""
    return name.replace("-", "_") if document.syntax == "shell" else name


def _values(document: Document, call: Call) -> dict[str, Any]:
    return {name: _entry_value(document, entry) for name, entry in call.arguments.items()}


def _entry_value(document: Document, entry: Entry) -> Any:
    return entry.raw if entry.value is UNKNOWN else _value(document, entry.value)


def _value(document: Document, value: Any) -> Any:
    # What a command line means by a word is for the program to say; here words are compared.
    if document.syntax != "shell":
        return value
    return [str(each) for each in cast(list[Any], value)] if isinstance(value, list) else str(value)

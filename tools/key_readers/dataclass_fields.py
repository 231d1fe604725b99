"""Rows from the fields of dataclasses and of pydantic models: all that is an annotated attribute of a class."""

import ast
from collections.abc import Iterator

from key_readers.annotations import Enums, NoLiteralError, enums_of, literal, types_of
from key_readers.tree import Row, Rows

FACTORIES = ("field", "Field")
BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "above", "lt": "below"}


def fields_of(module: ast.Module, *classes: str, enums: Enums | None = None) -> Rows:
    """The fields of classes, later ones over earlier ones; a class that is not there has none."""
    known = {**enums_of(module), **(enums or {})}
    by_name = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    rows: Rows = {}
    for name in classes:
        if name in by_name:
            rows |= dict(_fields(by_name[name], known))
    return rows


def _fields(node: ast.ClassDef, enums: Enums) -> Iterator[tuple[str, Row]]:
    for line in node.body:
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
            continue
        name = line.target.id
        if name.startswith("_") or "ClassVar" in ast.unparse(line.annotation):
            continue
        if (row := _row(line.annotation, line.value, enums)) is not None:
            yield name, row
            if alias := _alias(line.value):
                yield alias, row


def _row(annotation: ast.expr, value: ast.expr | None, enums: Enums) -> Row | None:
    row = types_of(annotation, enums)
    if value is None:
        return row
    if not isinstance(value, ast.Call) or ast.unparse(value.func).rpartition(".")[2] not in FACTORIES:
        return {**row, **_default(value, enums)}
    arguments = {word.arg: word.value for word in value.keywords if word.arg}
    if "init" in arguments and ast.unparse(arguments["init"]) == "False":
        return None
    if value.args:
        row |= _default(value.args[0], enums)
    for word in ("default", "default_factory"):
        if word in arguments:
            row |= _default(arguments[word], enums)
    row |= {field: ast.literal_eval(arguments[word]) for word, field in BOUNDS.items() if word in arguments}
    if "metadata" in arguments and (choices := _choices(arguments["metadata"])):
        row["choices"] = choices
    return row


def _alias(value: ast.expr | None) -> str:
    words = value.keywords if isinstance(value, ast.Call) else []
    found = [
        word.value.value for word in words if word.arg == "alias" and isinstance(word.value, ast.Constant)
    ]
    return str(found[0]) if found else ""


def _default(node: ast.expr, enums: Enums) -> Row:
    try:
        return {"default": literal(node, enums)}
    except NoLiteralError:
        return {}


def _choices(metadata: ast.expr) -> list[object]:
    for key, value in (
        zip(metadata.keys, metadata.values, strict=True) if isinstance(metadata, ast.Dict) else ()
    ):
        if isinstance(key, ast.Constant) and key.value == "choices":
            try:
                return list(ast.literal_eval(value))
            except ValueError:
                return []
    return []

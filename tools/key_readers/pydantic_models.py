"""Rows from pydantic models: inherited fields, other names, bounds, and the keys of models inside models."""

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress

from key_readers.annotations import Enums, NoLiteralError, enums_of, literal
from key_readers.dataclass_fields import fields_of
from key_readers.tree import Row, Rows

BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "above", "lt": "below"}
CONTAINERS = {"list": "*", "List": "*", "dict": "*", "Dict": "*"}
DEEPEST = 6
"""Levels of models inside models; the tools have at most four."""


class Models:
    """The models of a few files, told by name."""

    def __init__(self, module: ast.Module, enums: Enums | None = None) -> None:
        self.module = module
        self.enums: Enums = {**enums_of(module), **(enums or {})}
        self.classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}

    def rows(self, *names: str, prefix: str = "", depth: int = 0) -> Rows:
        """All keys of several models, later ones over earlier ones; keys inside a model are `name.key`, those of a
        list or mapping of models `name.*.key`."""
        rows: Rows = {}
        for name in names:
            for model in self.lineage(name):
                rows |= dict(self._own(model, prefix, depth))
        return rows

    def lineage(self, name: str) -> list[str]:
        """The model and what it inherits from, the one that wins last."""
        if name not in self.classes:
            return []
        bases = [ast.unparse(base).rpartition(".")[2] for base in reversed(self.classes[name].bases)]
        inherited = [ancestor for base in bases for ancestor in self.lineage(base)]
        return [*dict.fromkeys(inherited), name]

    def inside(self, annotation: ast.expr) -> Iterator[tuple[str, str]]:
        """Models that an annotation names, each with what stands between the field and their keys."""
        match annotation:
            case ast.Name(id=name) if name in self.classes and name not in self.enums:
                yield name, ""
            case ast.BinOp(left=left, right=right):
                yield from self.inside(left)
                yield from self.inside(right)
            case ast.Subscript(value=ast.Name(id=outer), slice=inner):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                for part in parts:
                    for name, between in self.inside(part):
                        yield name, ".".join(step for step in (CONTAINERS.get(outer, ""), between) if step)
            case _:
                return

    def _own(self, name: str, prefix: str, depth: int) -> Iterator[tuple[str, Row]]:
        rows = fields_of(self.module, name, enums=self.enums)
        for line in self.classes[name].body:
            if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
                continue
            key = line.target.id
            if key not in rows:
                continue
            nested = list(self.inside(line.annotation)) if depth < DEEPEST else []
            row = _with_field(rows[key], line.value, self.enums)
            if nested:
                outer = (
                    "list" if any(between == "*" and _is_list(line) for _, between in nested) else "mapping"
                )
                kept = [kind for kind in row.get("types", []) if kind != "any"]  # type: ignore[attr-defined]
                row["types"] = list(dict.fromkeys([*kept, outer]))
            for spelling in (key, *_other_names(line.value)):
                yield prefix + spelling, row
                below: Rows = {}
                for model, between in nested:
                    place = ".".join(part for part in (prefix + spelling, between) if part)
                    below |= {place: {"types": ["mapping"]}} if between else {}
                    below = either(below, self.rows(model, prefix=place + ".", depth=depth + 1))
                yield from below.items()


def either(one: Rows, other: Rows) -> Rows:
    """Rows of a place where one model or another may stand: what both have allows what either allows."""
    both = {key: _wider(one[key], other[key]) for key in one if key in other}
    return {**one, **other, **both}


def _wider(one: Row, other: Row) -> Row:
    row: Row = {key: value for key, value in one.items() if key in other and other[key] == value}
    row["types"] = list(dict.fromkeys([*one["types"], *other["types"]]))  # type: ignore[misc]
    if "choices" in one and "choices" in other:
        row["choices"] = list(dict.fromkeys([*one["choices"], *other["choices"]]))  # type: ignore[misc]
    return row


def _is_list(line: ast.AnnAssign) -> bool:
    return "list[" in ast.unparse(line.annotation).lower()


def _with_field(row: Row, value: ast.expr | None, enums: Enums) -> Row:
    if not isinstance(value, ast.Call) or ast.unparse(value.func) != "Field":
        return dict(row)
    told = dict(row)
    if value.args and "default" not in told:
        with suppress(NoLiteralError):
            told["default"] = literal(value.args[0], enums)
    words: Mapping[str | None, ast.expr] = {word.arg: word.value for word in value.keywords}
    for word, bound in BOUNDS.items():
        if word in words:
            told[bound] = ast.literal_eval(words[word])
    return told


def _other_names(value: ast.expr | None) -> list[str]:
    if not isinstance(value, ast.Call):
        return []
    words = {word.arg: word.value for word in value.keywords}
    alias, choices = words.get("alias"), words.get("validation_alias")
    names = [alias.value] if isinstance(alias, ast.Constant) else []
    if isinstance(choices, ast.Call):
        names += [part.value for part in choices.args if isinstance(part, ast.Constant)]
    return [str(name) for name in names]

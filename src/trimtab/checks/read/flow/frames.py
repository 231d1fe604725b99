"""Names and what they hold while a script is followed."""

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from trimtab.checks.document import UNKNOWN
from trimtab.checks.place import Place
from trimtab.checks.read.flow.values import Value
from trimtab.checks.read.scopes import parts

_INNER: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(slots=True, eq=False)
class Frame:
    """The names of one function, or of the script."""

    names: dict[str, Value] = field(default_factory=dict[str, Value])
    outer: "Frame | None" = None
    spot: Callable[[ast.AST], Place] | None = None
    """Of a whole file: where its nodes are."""
    globals: set[str] = field(default_factory=set[str])
    returned: list[Value] = field(default_factory=list[Value])
    owner: Value | None = None
    """The class in whose body the function is written."""

    def find(self, name: str) -> Value | None:
        """What a name holds here or further out; None if nothing is known of it."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.outer
        return None

    def put(self, name: str, value: Value) -> None:
        """Binds a name, in the script where it is declared `global`."""
        frame = self
        while name in self.globals and frame.outer is not None:
            frame = frame.outer
        frame.names[name] = value


def stored_names(body: Iterable[ast.stmt]) -> set[str]:
    """Names that statements bind, not counting functions inside."""
    found: set[str] = set()
    waiting: list[ast.AST] = [part for part in body if not isinstance(part, _INNER)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        waiting.extend(child for child in _binding(node) if not isinstance(child, _INNER))
    return found


def _binding(node: ast.AST) -> list[ast.AST]:
    """What may bind a name below a node: statements, targets, and `:=` in tests; plain values are left out."""
    if isinstance(node, ast.Expr | ast.Return | ast.Constant | ast.Name | ast.Attribute | ast.Call):
        return []
    if isinstance(node, ast.Assign):
        return [*node.targets]
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return [node.target]
    return parts(node)


def loosened(value: Value) -> Value:
    """What a name may hold at the start of a later turn of a loop that binds it again: no constant any more."""
    if value.made != "constant" and not (value.made == "binary" and value.constant is not UNKNOWN):
        return value
    return Value(made="unknown", label=value.label, index=value.index, place=value.place)


def leaves(body: list[ast.stmt]) -> bool:
    """Whether statements never come to their end: they return, raise or continue with the next turn."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return leaves(last.body) and leaves(last.orelse)
    return isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break)


def ends(body: list[ast.stmt]) -> bool:
    """Whether statements end in a `break`, a `return` or an error: nothing of the loop comes after them."""
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Break)


def merged(one: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
    """What names hold after two branches."""
    result = dict(one)
    for name, value in other.items():
        here = one.get(name)
        if here is None:
            result[name] = value
        elif here is not value:
            result[name] = either((here, value))
    return result


def either(values: tuple[Value, ...]) -> Value:
    """One of several values, each named once."""
    flat: dict[int, Value] = {}
    for value in values:
        for each in value.args if value.made == "either" else (value,):
            flat[id(each)] = each
    found = tuple(flat.values())
    if len(found) == 1:
        return found[0]
    known = [each for each in found if not (each.made == "constant" and each.constant is None)]
    if len(known) == 1:
        return known[0]  # something or None: where it is used it is something
    return Value(made="either", args=found[:8], index=max(each.index for each in found), label=found[0].label)

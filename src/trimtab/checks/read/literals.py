"""What an expression of Python is worth without running it: literals, names assigned once, plain arithmetic."""

import ast
import math
import re
from typing import Any, Final, TypeGuard

from trimtab.checks.document import UNKNOWN
from trimtab.checks.read.decode import printable
from trimtab.checks.read.records import Held, Records, is_free
from trimtab.checks.read.scopes import Scope, Survey, once

MAX_NESTING: Final = 50
LARGEST: Final = 2.0**256
"""Beyond it numbers are unknown: no setting is so large, and arithmetic on huge integers takes for ever."""
_LONGEST_TEXT = 10_000
_ENUM = re.compile(r"[A-Z]\w*\.[A-Z][A-Z0-9_]*")
_WITH_ENUMS = frozenset(("torch", "transformers", "trl", "peft", "accelerate", "deepspeed", "bitsandbytes"))
Number = int | float


class Literals:
    """Reads expressions of one script."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.records = Records(survey)
        self.from_option = False
        """Whether a value since this was last False is the default of an option of the script."""
        self.options: set[ast.expr] = set()
        """Expressions of names whose value is one."""
        self.known: dict[ast.expr, Any] = {}
        """Values of names' expressions, so that a chain of names is read once."""

    def value(self, node: ast.expr, scope: Scope, *, nesting: int = 0) -> Any:
        """The value, tuples and sets as lists; UNKNOWN where it is not a literal."""
        if nesting > MAX_NESTING:
            return UNKNOWN
        match node:
            case ast.Constant(value=value):
                return _constant(value)
            case ast.Name(id=name):
                return self._name(name, scope, nesting)
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self._items(items, scope, nesting)
            case ast.Dict() | ast.Call(func=ast.Name(id="dict"), args=[]):
                return self._whole_mapping(node, scope, nesting)
            case ast.UnaryOp(op=operator, operand=operand):
                return _signed(operator, self.value(operand, scope, nesting=nesting + 1))
            case ast.BinOp(left=left, op=operator, right=right):
                one = self.value(left, scope, nesting=nesting + 1)
                return computed(one, operator, self.value(right, scope, nesting=nesting + 1))
            case ast.Attribute():
                value = self._dotted(node)
                return (
                    self.held(self.records.attribute(node, scope), nesting=nesting)
                    if value is UNKNOWN
                    else value
                )
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(key))):
                found = self._item(inner, key, scope)
                return UNKNOWN if found is None else self.value(found, scope, nesting=nesting + 1)
            case _:
                return UNKNOWN

    def mapping(
        self, node: ast.expr, scope: Scope, *, nesting: int = 0
    ) -> list[tuple[str, ast.expr, ast.expr | ast.keyword]] | None:
        """Keys, values and where the keys stand, of a mapping written as a literal; None if it is something else."""
        match node:
            case ast.Dict(keys=keys, values=values):
                pairs = list(zip(keys, values, strict=True))
                if all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key, _ in pairs):
                    return [
                        (str(key.value), value, key) for key, value in pairs if isinstance(key, ast.Constant)
                    ]
                return None
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                if all(keyword.arg for keyword in keywords):
                    return [(str(keyword.arg), keyword.value, keyword) for keyword in keywords]
                return None
            case ast.Name(id=name) if name not in self.survey.mutated and nesting < MAX_NESTING:
                found = once(scope, name)
                return self.mapping(found[0], found[1], nesting=nesting + 1) if found else None
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(key))) if nesting < MAX_NESTING:
                item = self._item(inner, key, scope)
                return self.mapping(item, scope, nesting=nesting + 1) if item is not None else None
            case _:
                return None

    def _item(self, inner: ast.expr, key: str, scope: Scope) -> ast.expr | None:
        """The expression at a key of a mapping that is written out and never changed."""
        pairs = self.mapping(inner, scope)
        found = [value for name, value, _ in pairs or () if name == key]
        is_seen = bool(found) and (is_free(found[-1]) or scope.outer is None)
        return found[-1] if is_seen else None

    def held(self, held: Held | None, *, nesting: int = 0) -> Any:
        """The value of an attribute or a parameter. A default that says "not given" (None, 0, False, an empty
        text) is unknown: that is what people use options for."""
        if held is None:
            return UNKNOWN
        value: Any = self.value(held.node, held.scope, nesting=nesting + 1)
        if (nesting > 0 and _is_container(value)) or (held.is_default and not value):
            return UNKNOWN
        self.from_option = self.from_option or held.is_default
        return value

    def _name(self, name: str, scope: Scope, nesting: int) -> Any:
        found = once(scope, name)
        if found is None:
            return self.held(self.records.parameter(name, scope), nesting=nesting)
        node, where = found
        if node not in self.known:
            self.known[node] = UNKNOWN  # a name that stands for itself
            before, self.from_option = self.from_option, False
            self.known[node] = self.value(node, where, nesting=nesting + 1)
            if self.from_option:
                self.options.add(node)
            self.from_option = before
        self.from_option = self.from_option or node in self.options
        value: Any = self.known[node]
        if _is_container(value) and (nesting > 0 or name in self.survey.mutated):
            return UNKNOWN  # lists of lists by name could double without end
        return value

    def _items(self, nodes: list[ast.expr], scope: Scope, nesting: int) -> Any:
        values = [self.value(node, scope, nesting=nesting + 1) for node in nodes]
        return UNKNOWN if any(value is UNKNOWN for value in values) else values

    def _whole_mapping(self, node: ast.expr, scope: Scope, nesting: int) -> Any:
        pairs = self.mapping(node, scope, nesting=nesting + 1)
        if pairs is None:
            return UNKNOWN
        result = {printable(key): self.value(value, scope, nesting=nesting + 1) for key, value, _ in pairs}
        return UNKNOWN if any(value is UNKNOWN for value in result.values()) else result

    def _dotted(self, node: ast.Attribute) -> Any:
        """`torch.bfloat16` and members of enumerations as text; what else an attribute holds is unknown."""
        name = dotted_name(node, self.survey.origins)
        root, _, rest = name.partition(".")
        if root == "torch" and "torch" in self.survey.imports and rest and "." not in rest:
            return name
        if _ENUM.fullmatch(name) and self._is_imported(node) and self.survey.imports & _WITH_ENUMS:
            return name
        return UNKNOWN

    def _is_imported(self, node: ast.Attribute) -> bool:
        return isinstance(node.value, ast.Name) and node.value.id in self.survey.origins


def dotted_name(node: ast.expr, origins: dict[str, str]) -> str:
    """`a.b.c` of names alone, its first part as it is called where it is imported from; else an empty text."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < MAX_NESTING:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join((origins.get(node.id, node.id), *reversed(parts)))


def _is_container(value: object) -> bool:
    return isinstance(value, list | dict)


def _constant(value: object) -> Any:
    if isinstance(value, str):
        return printable(value)
    if value is None or isinstance(value, bool):
        return value
    return _bounded(value) if isinstance(value, int | float) else UNKNOWN


def _bounded(value: Number) -> Any:
    return value if isinstance(value, float) or abs(value) <= LARGEST else UNKNOWN


def _is_number(value: Any) -> TypeGuard[Number]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _signed(operator: ast.unaryop, value: Any) -> Any:
    if isinstance(operator, ast.Not):
        return not value if isinstance(value, bool) else UNKNOWN
    if not _is_number(value) or isinstance(operator, ast.Invert):
        return UNKNOWN
    return -value if isinstance(operator, ast.USub) else value


def computed(one: Any, operator: ast.operator, other: Any) -> Any:
    """Arithmetic of two constants; UNKNOWN where it is none."""
    if isinstance(operator, ast.Add) and isinstance(one, str) and isinstance(other, str):
        return one + other if len(one) + len(other) <= _LONGEST_TEXT else UNKNOWN
    if not (_is_number(one) and _is_number(other)):
        return UNKNOWN
    try:
        match operator:
            case ast.Add():
                return _bounded(one + other)
            case ast.Sub():
                return _bounded(one - other)
            case ast.Mult():
                return _bounded(one * other)
            case ast.Div():
                return _bounded(one / other)
            case ast.FloorDiv():
                return _bounded(one // other)
            case ast.Mod():
                return _bounded(one % other)
            case ast.Pow():
                return _power(one, other)
            case _:
                return UNKNOWN
    except (ArithmeticError, ValueError):
        return UNKNOWN


def _power(one: Number, other: Number) -> Any:
    if one == 0 or abs(other) * abs(math.log2(abs(one))) > math.log2(LARGEST):
        return UNKNOWN
    result: Any = one**other
    return _bounded(result) if _is_number(result) else UNKNOWN  # a negative base may give a complex number

"""Slices along the sequence: which tensor is another one without its first or last position."""

import ast
from typing import Any, Final

from trimtab.checks.read.flow.values import Value

_SHAPES: Final = frozenset(
    {
        "view", "reshape", "contiguous", "flatten", "transpose", "permute", "to", "cuda", "long", "clone", "float",
        "squeeze", "detach", "type", "double", "rearrange", "cpu", "int", "type_as",
    }
)  # fmt: skip
"""Methods that change shape, device or type, and no position."""


def plain(value: Value | None) -> Value | None:
    """A tensor behind all that changes no position: `logits.view(-1, n).float()` is `logits`."""
    for _ in range(20):
        if value is None or value.made != "call" or value.name not in _SHAPES or value.of is None:
            return value
        value = value.of
    return value


def cut(value: Value) -> tuple[Value, Any, Any] | None:
    """The tensor, start and end of a slice along its second or last axis: `ids[:, 1:]`, `logits[..., :-1, :]`."""
    if value.made != "item" or value.of is None or not value.args:
        return None
    bounds = value.args[0].fields.get("<bounds>")
    if bounds is None:
        return None
    start, end = bounds.constant
    return value.of, start, end


def uncut(value: Value | None) -> Value | None:
    """The tensor of which a target is a slice, moved, reshaped or not."""
    for _ in range(8):
        value = plain(value)
        sliced = cut(value) if value is not None else None
        if value is not None and sliced is None and value.made == "item" and value.of is not None:
            inner = value.args[0].fields.get("<bounds>") if value.args else None
            if inner is None:
                return value
            value = value.of
        elif sliced is not None:
            value = sliced[0]
        else:
            return value
    return value


def bounds_of(node: ast.expr) -> tuple[Any, Any] | None:
    """Start and end of the one part of an index that cuts, behind `:` or `...`; None if there is not one."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    found: list[tuple[Any, Any]] = []
    for at, part in enumerate(parts):
        if not isinstance(part, ast.Slice):
            if at or not (isinstance(part, ast.Constant) and part.value is Ellipsis):
                return None
            continue
        if part.step is not None:
            return None
        if part.lower is None and part.upper is None:
            continue
        found.append((_number(part.lower), _number(part.upper)))
    return found[0] if len(found) == 1 else None


def is_tail_of(value: Value, other: Value) -> bool:
    """Whether one is `x[:, 1:]` and the other `x[:, :-1]` of the same x."""
    one, two = _cut_of(value), _cut_of(other)
    if one is None or two is None or plain(one[0]) is not plain(two[0]):
        return False
    return one[1] == 1 and one[2] is None and two[1] in (None, 0) and two[2] == -1


def is_next_of(value: Value, other: Value) -> bool:
    """Whether one is the same stretch as the other, one position on: `ids[i + 1 : i + 1 + n]` of `ids[i : i + n]`."""
    one, two = _cut_of(value), _cut_of(other)
    if one is None or two is None or plain(one[0]) is not plain(two[0]):
        return False
    return _is_one_more(one[1], two[1]) and (_is_one_more(one[2], two[2]) or one[2] == two[2])


def _is_one_more(one: Any, other: Any) -> bool:
    if isinstance(one, int) and isinstance(other, int):
        return one == other + 1
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    terms, others = _terms(one), _terms(other)
    constant = terms.pop("", 0) - others.pop("", 0)
    return terms == others and constant == 1


def _terms(text: str) -> dict[str, int]:
    """A sum as its terms: how often each is added, and under no name the number."""
    found: dict[str, int] = {}
    waiting = [(ast.parse(text, mode="eval").body, 1)]
    while waiting:
        node, sign = waiting.pop()
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
                waiting += [(left, sign), (right, sign if isinstance(operator, ast.Add) else -sign)]
            case ast.Constant(value=int() as number):
                found[""] = found.get("", 0) + sign * number
            case _:
                written = ast.unparse(node)
                found[written] = found.get(written, 0) + sign
    return found


def _cut_of(value: Value) -> tuple[Value, Any, Any] | None:
    found = plain(value)
    return cut(found) if found is not None else None


def _number(node: ast.expr | None) -> Any:
    match node:
        case None:
            return None
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case _:
            return ast.unparse(node)

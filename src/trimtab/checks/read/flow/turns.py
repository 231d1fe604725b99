"""The turns of a short loop over objects that are written down: `for optimizer in (adam, muon): optimizer.step()`."""

import ast
from typing import Final

from trimtab.checks.read.flow.values import Value

_MOST: Final = 4
"""Turns; a longer loop is followed once."""
_LONGEST: Final = 3
"""Statements in the body."""
_SIMPLE = ast.Expr | ast.Assign | ast.AugAssign | ast.If | ast.Pass
_OBJECTS: Final = ("call", "object", "attribute", "list", "imported", "class", "function")


def written_elements(over: Value) -> tuple[Value, ...]:
    """The objects of a short list or mapping that is written down; empty for anything else."""
    found = _elements(over)
    return found if 1 < len(found) <= _MOST and all(each.made in _OBJECTS for each in found) else ()


def turns_of(over: Value, body: list[ast.stmt]) -> tuple[Value, ...]:
    """What a short loop takes in each of its turns; empty where that is not known, or the loop is long: then its body
    is followed once, with an element of which nothing is known."""
    if len(body) > _LONGEST or not all(isinstance(each, _SIMPLE) for each in body):
        return ()
    return written_elements(over)


def _elements(over: Value) -> tuple[Value, ...]:
    if over.made == "list":
        return over.args
    if over.made != "call":
        return ()
    of = over.of
    if over.name == "values" and of is not None and of.made == "dict" and not of.args:
        return tuple(of.keywords.values())
    if over.name == "items" and of is not None and of.made == "dict" and not of.args:
        pairs = ((Value("constant", constant=key), each) for key, each in of.keywords.items())
        return tuple(Value("list", index=over.index, args=pair) for pair in pairs)
    if over.name == "zip":
        columns = [_elements(each) for each in over.args]
        if not columns or len({len(each) for each in columns}) != 1:
            return ()
        return tuple(Value("list", index=over.index, args=row) for row in zip(*columns, strict=True))
    return ()

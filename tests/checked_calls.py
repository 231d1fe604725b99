"""Makes the checks of types and shapes in tests cheap: a function whose signature speaks of no shapes pays for none.

jaxtyping's import hook decorates every function of trimtab with `jaxtyped`, which binds the arguments, opens a scope
for the names of axes, and checks arguments twice. Most functions have no tensors, and all this was most of what a tiny
run cost. What is checked stays the same: every argument and every result, by beartype; the names of axes wherever
there are any.
"""

import builtins
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ForwardRef, Literal, get_args, get_origin

import jaxtyping
from beartype import beartype

IN_A_SCOPE = jaxtyping.jaxtyped


def install() -> None:
    """To be called before trimtab is imported: what the import hook writes above functions is looked up by name."""
    jaxtyping.jaxtyped = checked


def checked(*, typechecker: Any) -> Callable[[Any], Any]:
    """In place of `jaxtyping.jaxtyped`, as the import hook calls it: the checker is beartype in any case."""
    return decorated


def decorated(each: Any) -> Any:
    """A function, a method, a property or a class, with its checks."""
    if inspect.isclass(each):
        if dataclasses.is_dataclass(each) and "__init__" in vars(each):
            each.__init__ = decorated(each.__init__)
        return each
    if isinstance(each, classmethod | staticmethod):
        return type(each)(decorated(each.__func__))
    if isinstance(each, property):
        return property(*(part and decorated(part) for part in (each.fget, each.fset, each.fdel)))
    hints = [part for hint in inspect.get_annotations(each).values() for part in parts_of(hint)]
    if not all(known(hint, each) for hint in hints):
        return IN_A_SCOPE(each, typechecker=beartype)  # passes over what only type checkers can name
    if any(inspect.isclass(hint) and issubclass(hint, jaxtyping.AbstractArray) for hint in hints):
        return IN_A_SCOPE(beartype(each), typechecker=None)
    return beartype(each)


def parts_of(hint: Any) -> Iterator[Any]:
    """An annotation and those that it is made of."""
    yield hint
    if get_origin(hint) is Literal:
        return  # what stands in it are values
    parts = hint if isinstance(hint, list) else get_args(hint)
    for part in parts[:1] if get_origin(hint) is Annotated else parts:
        yield from parts_of(part)


def known(hint: Any, function: Any) -> bool:
    """Whether the names of an annotation that is text are there, or that of the class that is being made.

    One with brackets is not: it may be written so because it has a meaning to type checkers only.
    """
    text = hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint
    names = set(re.findall(r"\[|[^\W\d]\w*", text)) if isinstance(text, str) else set()
    return names <= {*function.__globals__, *vars(builtins), *function.__qualname__.split(".")}

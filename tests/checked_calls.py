"""Makes the checks of types and shapes in tests cheap: a function whose signature speaks of no shapes pays for none.

jaxtyping's import hook decorates every function of trimtab with `jaxtyped`, which binds the arguments, opens a scope
for the names of axes, and checks arguments twice. Most functions have no tensors, and all this was most of what a tiny
run cost. What is checked stays the same: every argument and every result, by beartype; the names of axes wherever
there are any.

A loop calls the same functions with the same types a thousand times, so in each test the first `FIRST` calls of a
function are checked, and of the later ones each `EVERY`-th. Checks of a function inside another one, which is defined
anew at each call, are made only for calls that are checked.
"""

import builtins
import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Annotated, Any, ForwardRef, Literal, get_args, get_origin

import jaxtyping
from beartype import beartype

IN_A_SCOPE = jaxtyping.jaxtyped
FIRST, EVERY = 10, 50
_test = 0
_calls: dict[CodeType, list[int]] = {}
"""For the code of each function: the test that called it last, and how often that test has."""
_passing_on: list[Callable[[], None]] = []
"""What ends this for each function that passes its calls on."""


def install() -> None:
    """To be called before trimtab is imported: what the import hook writes above functions is looked up by name."""
    jaxtyping.jaxtyped = checked


def begin_test() -> None:
    """From now on calls are counted anew."""
    global _test
    _test += 1
    for begin_anew in _passing_on:
        begin_anew()
    _passing_on.clear()


def checked(*, typechecker: Any) -> Callable[[Any], Any]:
    """In place of `jaxtyping.jaxtyped`, as the import hook calls it: the checker is beartype in any case."""
    return decorated


def decorated(each: Any) -> Any:
    """A function, a method, a property or a class, with its checks."""
    if inspect.isclass(each):
        if dataclasses.is_dataclass(each) and "__init__" in vars(each):
            from trimtab.checks.record import init_of  # late: `install` comes before trimtab

            each.__init__ = decorated(init_of(each))
        return each
    if isinstance(each, classmethod | staticmethod):
        return type(each)(decorated(each.__func__))
    if isinstance(each, property):
        return property(*(part and decorated(part) for part in (each.fget, each.fset, each.fdel)))
    return sampled(each)


def sampled(each: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its checks in some of its calls."""
    count = _calls.setdefault(each.__code__, [0, 0])
    with_checks: Callable[..., Any] | None = None
    left = 0  # calls to pass on without a look at the count, which is half of the time of most functions

    @functools.wraps(each)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        if left:
            left -= 1
            return each(*args, **kwargs)
        return counted()(*args, **kwargs)

    def counted() -> Callable[..., Any]:
        nonlocal left, with_checks
        if count[0] != _test:
            count[:] = _test, 0
        count[1] += 1
        if count[1] > FIRST and count[1] % EVERY:
            return each
        if count[1] >= FIRST:
            left = EVERY - 1 - count[1] % EVERY
            count[1] += left
            _passing_on.append(begin_anew)
        if with_checks is None:
            with_checks = always_checked(each)
        return with_checks

    def begin_anew() -> None:
        nonlocal left
        left = 0

    return call


def always_checked(each: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its checks in every call."""
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

"""Arguments that callers of single parts get wrong, in the words of every other error: what, got, allowed, fix.

Each check gives the value back, so that it can be used where the value is first needed.
"""

import math
import operator
from typing import Any, TypeVar

from trimtab.errors import InputError, input_error

Value = TypeVar("Value")


def described(value: object) -> str:
    """A value as a message shows it: a tensor or an array by its shape and type, a large object by its class."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"a {type(value).__name__} of shape {tuple(shape)}, {dtype}"
    if value is None or isinstance(value, bool | int | float | str | bytes | list | tuple | dict | set):
        text = repr(value)  # type: ignore[reportUnknownArgumentType]
        if len(text) <= 60:
            return text
    return f"an object of class {type(value).__name__}"  # type: ignore[reportUnknownArgumentType]


def wrong(name: str, what: str, *, got: object, allowed: str, fix: str) -> InputError:
    """An InputError about the argument `name`; `got` is described unless it is text already."""
    return input_error(
        f"{name}: {what}", got=got if isinstance(got, str) else described(got), allowed=allowed, fix=fix
    )


def instance_of(
    value: Any, kinds: type[Value] | tuple[type[Value], ...], *, name: str, allowed: str, fix: str
) -> Value:
    """The value, of one of these classes."""
    if not isinstance(value, kinds):
        raise wrong(name, "is of another type", got=described(value), allowed=allowed, fix=fix)
    return value


def callable_of(value: Any, *, name: str, allowed: str, fix: str) -> Any:
    """The value, which can be called."""
    if not callable(value):
        raise wrong(name, "is no function", got=described(value), allowed=allowed, fix=fix)
    return value


def whole_number(value: Any, *, name: str, least: int, fix: str, most: int | None = None) -> int:
    """An int of at least `least`; numbers of NumPy and tensors with one whole number are ints too."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    large = most is not None and number is not None and number > most
    if number is None or number < least or large:
        what = "is too large" if large else "is too small"
        raise wrong(
            name,
            "is no whole number" if number is None else what,
            got=described(value),
            allowed=f"a whole number of at least {least}"
            + ("" if most is None else f" and at most {most:,}"),
            fix=fix,
        )
    return number


def real_number(
    value: Any,
    *,
    name: str,
    fix: str,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    most: float = math.inf,
) -> float:
    """A float within these bounds; NaN is within none."""
    bounds = (
        ("above", above, -math.inf),
        ("at least", least, -math.inf),
        ("below", below, math.inf),
        ("at most", most, math.inf),
    )
    said = [f"{word} {bound:g}" for word, bound, open_end in bounds if bound != open_end]
    allowed = " and ".join(["a number", *said]).replace("number and", "number", 1)
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, RuntimeError):
        number = math.nan
    inside = number >= least and number <= most
    if above != -math.inf:
        inside = inside and number > above
    if below != math.inf:
        inside = inside and number < below
    if not inside:
        what = "is no number" if math.isnan(number) else "is out of range"
        raise wrong(name, what, got=described(value), allowed=allowed, fix=fix)
    return number

"""`@record`: a frozen dataclass with slots that compiles nothing before it is used.

`dataclass` writes and compiles six methods for each class, which is a fifth of the time of `trimtab check FILE`: the
linter defines eighty records, and one file needs few of them. Here the methods that are the same for all classes are
functions, and `__init__` is compiled once it has been called often enough to pay for that. To `fields`, `replace`,
`match`, `copy` and type checkers it is a dataclass.
"""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

_Class = TypeVar("_Class")
FEW = 128
"""Instances that are cheaper to fill field by field than to compile an `__init__` for."""


@overload
def record(each: type[_Class], /) -> type[_Class]: ...
@overload
def record(*, kw_only: bool = False) -> Callable[[type[_Class]], type[_Class]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(each: type[Any] | None = None, /, *, kw_only: bool = False) -> Any:
    """In place of `dataclass(frozen=True, slots=True)`, with its `kw_only`."""

    def decorated(plain: type[Any]) -> type[Any]:
        return _with_methods(dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(plain))

    return decorated if each is None else decorated(each)


def init_of(each: type[Any]) -> Callable[..., None]:
    """The `__init__` of a class, with the signature of its fields: that of a record is compiled if it was not yet."""
    found = each.__init__
    return getattr(found, "compiled", lambda: found)()


def _with_methods(each: Any) -> Any:
    compared = tuple(one.name for one in fields(each) if one.compare)
    shown = tuple(one.name for one in fields(each) if one.repr)
    names = tuple(one.name for one in fields(each))
    each.__init__ = _compiled_when_called(each)
    equal, hashed = _comparison(compared)
    for name, method in (("__repr__", _repr(shown)), ("__eq__", equal), ("__hash__", hashed)):
        if name not in vars(each):  # what a class defines itself stays, as with `dataclass`
            setattr(each, name, method)
    each.__setattr__, each.__delattr__ = _refuse_to_set, _refuse_to_delete
    each.__getstate__, each.__setstate__ = _state(names)
    return each


def _compiled_when_called(each: type[Any]) -> Callable[..., None]:
    made: Callable[..., None] | None = None
    calls = 0

    def compiled() -> Callable[..., None]:
        nonlocal made
        if made is None:
            made = _init_by_dataclass(each)
            if vars(each)["__init__"] is first_call:
                each.__init__ = made
        return made

    def first_call(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > FEW or made is not None or not _init_by_hand(each, self, args, kwargs):
            compiled()(self, *args, **kwargs)

    first_call.compiled = compiled  # pyright: ignore[reportFunctionMemberAccess]
    return first_call


def _init_by_hand(each: type[Any], self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Sets the fields from the arguments as `__init__` would, and says whether it could: what is no plain call (an
    argument too many, too few or unknown, `__post_init__`) is left to the compiled one, which has the right error."""
    given = dict(zip(each.__match_args__, args, strict=False)) | kwargs  # all that may be given by position
    if len(given) != len(args) + len(kwargs) or hasattr(each, "__post_init__"):
        return False
    used = 0
    for name, one in each.__dataclass_fields__.items():
        if one.init and name in given:
            value = given[name]
            used += 1
        elif one.default is not MISSING:
            value = one.default
        elif one.default_factory is not MISSING:
            value = one.default_factory()
        else:
            return False
        object.__setattr__(self, name, value)
    return used == len(given)


def _init_by_dataclass(each: Any) -> Callable[..., None]:
    """What `dataclass` compiles for a class of the same fields; `object.__setattr__` sets them in any class."""
    members: dict[str, Any] = {one.name: one for one in fields(each)}
    members["__annotations__"] = {one.name: one.type for one in fields(each)}
    members["__module__"], members["__qualname__"] = each.__module__, each.__qualname__
    if hasattr(each, "__post_init__"):
        members["__post_init__"] = each.__post_init__
    twin: Any = dataclass(frozen=True, repr=False, eq=False)(type(each.__name__, (), members))
    return twin.__init__


def _repr(names: tuple[str, ...]) -> Callable[[Any], str]:
    def text(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return recursive_repr()(text)


def _comparison(names: tuple[str, ...]) -> tuple[Callable[[Any, object], Any], Callable[[Any], int]]:
    values: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def equal(self: Any, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return (values(self),) == (values(other),)  # in a tuple, what is identical is equal

    def hashed(self: Any) -> int:
        return hash(values(self))

    return equal, hashed


def _state(names: tuple[str, ...]) -> tuple[Callable[[Any], list[Any]], Callable[[Any, list[Any]], None]]:
    """For `copy` and `pickle`, which would set the fields."""

    def get(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def put(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return get, put


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")

"""Makes the checks of types and shapes in tests cheap: a function whose signature speaks of no shapes pays for none.

jaxtyping's import hook decorates every function of trimtab with `jaxtyped`, which binds the arguments, opens a scope
for the names of axes, and checks arguments twice. Most functions have no tensors, and all this was most of what a tiny
run cost. What is checked stays the same: every argument and every result, by beartype; the names of axes wherever
there are any.

A loop calls the same functions with the same types a thousand times, so in each test the first `FIRST` calls of a
function are checked, and some of the later ones. A function has other code while its calls are checked, and its own
afterwards, so that later calls cost nothing. Some pass through a wrapper instead: generators, and functions that use a
variable of another one or call `super`. Of these, each `EVERY`-th call is checked, and after `ROUND` such checks the
next call of every function is.
"""

import builtins
import dataclasses
import functools
import inspect
import re
from abc import ABCMeta
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from enum import EnumType
from types import CodeType, FunctionType, UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    Never,
    NoReturn,
    ParamSpec,
    Self,
    TypeVar,
    get_args,
    get_origin,
)

import jaxtyping
from beartype import beartype
from beartype.door import is_bearable
from beartype.roar import BeartypeException

IN_A_SCOPE = jaxtyping.jaxtyped
FIRST, EVERY, ROUND = 2, 50, 20
UNLIKE_OTHERS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
"""Marks of functions whose annotations say something else than what is passed and returned."""
GENERATES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
NO_TEST = (str, ForwardRef, TypeVar, ParamSpec)
NEVER = (NoReturn, Never, Self)
"""Parts of annotations that mean something in a function only."""
PLAIN_CLASSES = (type, ABCMeta, EnumType)
_test = 0
_later = 0
"""How many later calls this test has checked."""
_checkers: list[Callable[..., Any]] = []
"""What calls each function whose code is exchanged, by the number in that code."""
_exchanged: list[tuple[FunctionType, CodeType]] = []
"""These functions, with the code of their own."""
_calls: dict[CodeType, list[int]] = {}
"""For the code of each function: the test that called it last, and how often that test has."""
_passing_on: list[Callable[[], None]] = []
"""What ends this for each wrapper that passes calls on."""
_with_own_code: list[Callable[[], None]] = []
"""What ends this for each function that has its own code again."""


def install() -> None:
    """To be called before trimtab is imported: what the import hook writes above functions is looked up by name."""
    jaxtyping.jaxtyped = checked


def begin_test() -> None:
    """From now on calls are counted anew."""
    global _test, _later
    _test, _later = _test + 1, 0
    end_all(_passing_on)
    end_all(_with_own_code)


def end_all(ends: list[Callable[[], None]]) -> None:
    """Calls them all, and forgets them."""
    for end in ends:
        end()
    ends.clear()


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
    code = getattr(each, "__code__", None)
    if code is None or code.co_freevars or code.co_flags & GENERATES or "<locals>" in each.__qualname__:
        return sampled(each)
    return exchanged(each)


def exchanged(each: FunctionType) -> FunctionType:
    """The function itself, with code that checks in the place of its own as long as its calls are to be checked."""
    own, count = each.__code__, [0, 0]
    plain = FunctionType(own, each.__globals__, each.__name__, each.__defaults__)
    plain.__kwdefaults__, plain.__qualname__ = each.__kwdefaults__, each.__qualname__
    functools.update_wrapper(plain, each)
    del plain.__wrapped__
    each.__wrapped__ = plain  # with the signature, for whoever asks for it
    with_checks: Callable[..., Any] | None = None

    def check(*args: Any, **kwargs: Any) -> Any:
        nonlocal with_checks
        if is_compiling():  # Dynamo can't follow the compilation of a check
            return plain(*args, **kwargs)
        if count[0] != _test:
            count[:] = _test, 0
        count[1] += 1
        if count[1] >= FIRST and each.__code__ is checking:
            each.__code__ = own
            _with_own_code.append(begin_anew)
        if with_checks is None:
            with_checks = always_checked(plain)
        return with_checks(*args, **kwargs)

    def begin_anew() -> None:
        each.__code__ = checking

    from torch.compiler import is_compiling  # late: the process that hands tests to others needs no torch

    checking = checking_code(own, number=len(_checkers))
    _checkers.append(check)
    _exchanged.append((each, own))
    begin_anew()
    return each


@contextmanager
def own_code() -> Iterator[None]:
    """All functions have their own code inside, as another process needs it that has no checkers."""
    checking = [(each, own, code) for each, own in _exchanged if (code := each.__code__) is not own]
    for each, own, _ in checking:
        each.__code__ = own
    passing = [*_with_own_code]
    _with_own_code.clear()  # a wrapper in that process would exchange their code again
    try:
        yield
    finally:
        _with_own_code.extend(passing)
        for each, _, code in checking:
            each.__code__ = code


def checking_code(own: CodeType, *, number: int) -> CodeType:
    """Code in place of `own` that calls the checker of this number."""
    code = _call_checker.__code__
    numbered = tuple(number if each == 987_654_321 else each for each in code.co_consts)
    named = {"co_name": own.co_name, "co_qualname": own.co_qualname, "co_filename": own.co_filename}
    return code.replace(co_consts=numbered, co_firstlineno=own.co_firstlineno, **named)


def _call_checker(*args: Any, **kwargs: Any) -> Any:
    return __checker__(987_654_321)(*args, **kwargs)


def checker(number: int) -> Callable[..., Any]:
    """The checker of this number, which functions of all modules find under a name of `builtins`."""
    return _checkers[number]


builtins.__checker__ = checker


def sampled(each: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its checks in some of its calls."""
    from torch.compiler import is_compiling  # late: the process that hands tests to others needs no torch

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
        global _later
        nonlocal left, with_checks
        if is_compiling():  # Dynamo can't follow the compilation of a check
            return each
        if count[0] != _test:
            count[:] = _test, 0
        count[1] += 1
        if count[1] > FIRST and count[1] % EVERY:
            return each
        if count[1] > FIRST:
            _later += 1
            if not _later % ROUND:
                end_all(_with_own_code)
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
    return quickly_checked(each, hints) or beartype(each)


def quickly_checked(each: Callable[..., Any], hints: list[Any]) -> Callable[..., Any] | None:
    """The function with beartype's test of each annotation, which is compiled once for all functions that have it; None
    where only beartype's own decorator can check. What fails a test is given to that decorator, for its error.
    """
    code, given = each.__code__, inspect.get_annotations(each)
    if code.co_flags & UNLIKE_OTHERS or any(isinstance(hint, NO_TEST) or hint in NEVER for hint in hints):
        return None
    if not all(isinstance(hint, Hashable) for hint in given.values()):
        return None  # a test could not be kept for others
    tests = {name: test_of(hint) for name, hint in given.items()}
    try:
        for test in tests.values():
            test(None)
    except BeartypeException:  # such as `TypeGuard`, which only a function can have
        return None
    values = each.__defaults__ or ()
    defaults = dict(
        zip(code.co_varnames[code.co_argcount - len(values) : code.co_argcount], values, strict=True)
    )
    for name, value in (defaults | (each.__kwdefaults__ or {})).items():
        if name in tests and not tests[name](value):
            return None
    result = tests.pop("return", None)
    in_order = [tests.get(name) for name in code.co_varnames[: code.co_argcount]]

    def call(*args: Any, **kwargs: Any) -> Any:
        for test, value in zip(in_order, args, strict=False):
            if test is not None and not test(value):
                return beartype(each)(*args, **kwargs)
        for name, value in kwargs.items():
            if name in tests and not tests[name](value):
                return beartype(each)(*args, **kwargs)
        found = each(*args, **kwargs)
        if result is not None and not result(found):
            return refused_result(each, found)
        return found

    return call


def refused_result(each: Callable[..., Any], found: Any) -> Any:
    """Raises beartype's error for what a function has returned."""

    @functools.wraps(each)
    def again(*args: Any, **kwargs: Any) -> Any:
        return found

    again.__annotations__ = {"return": inspect.get_annotations(each)["return"]}
    del again.__wrapped__
    return beartype(again)()


def test_of(hint: Any) -> Callable[[Any], bool]:
    """Whether a value is what an annotation says."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if all(type(kind) in PLAIN_CLASSES and not getattr(kind, "_is_protocol", False) for kind in kinds):
        return lambda value: isinstance(value, hint)
    return lambda value: is_bearable(value, hint)


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

"""Jinja's sandbox with a count of what a template does, so that one that never ends is stopped.

Turns of loops, calls, filters, comparisons and the sizes of values count before what is made of them: filters and
methods that make large texts from small ones are bounded by what they are given. A template gets no random text.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Set, Sized, ValuesView
from contextvars import ContextVar
from itertools import chain, permutations
from typing import Any, cast

from jinja2 import nodes, pass_context, pass_environment
from jinja2.filters import make_attrgetter
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEscapeFormatter, SandboxedFormatter
from jinja2.utils import Namespace
from markupsafe import Markup

STEPS_PER_CALL = 20
"""What a call or a filter costs."""
_CHARACTERS_PER_STEP = 16
"""Of a text that is read, which is faster than to write it."""
_MOST_BITS = 100_000
_CONVERSION = re.compile(r"%(?:\([^)]*\))?[#0\- +]*(\*|\d*)(?:\.(\*|\d*))?")
_SIZES = frozenset({"batch", "center", "indent", "round", "slice", "tojson", "truncate", "wordwrap"})
"""The filters whose numbers say how much they make."""
_AT_ONCE = frozenset({"attr", "count", "d", "default", "first", "last", "length", "random"})
"""The filters that take as long for many items as for a few."""
_SHALLOW = frozenset(
    {"batch", "items", "list", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "slice"}
)
"""Those that do not read what is inside of the items that they are given."""
_COMPARING = frozenset(
    {
        "!=",
        "<",
        "<=",
        "==",
        ">",
        ">=",
        "eq",
        "equalto",
        "ge",
        "greaterthan",
        "gt",
        "in",
        "le",
        "lessthan",
        "lower",
    }
    | {"lt", "ne", "upper"}
)
"""The tests that read all of a value."""
_BACKWARDS = frozenset({"lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip"})
"""The methods that may compare each character with each one of what they are given."""


class TooMuch(BaseException):
    """The template has used up its steps. No template may catch it, and nothing takes it for a refusal."""


class Steps:
    """How many are left."""

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self, count: int) -> None:
        """Raises TooMuch where there are no more."""
        self.left -= count
        if self.left < 0:
            raise TooMuch


LEFT: ContextVar[Steps | None] = ContextVar("left", default=None)


def _spend(count: int) -> None:
    if (steps := LEFT.get()) is not None:
        steps.spend(count)


def pieces(value: Any) -> Iterator[int]:
    """The sizes of all texts and numbers in a value, and 0 for all else; of one that stands twice, both times."""
    left = [iter((value,))]
    while left:
        for each in left[-1]:
            if isinstance(each, str | bytes):
                yield len(each)
            elif isinstance(each, int):
                yield each.bit_length() // 4
            elif isinstance(each, range):
                yield _CHARACTERS_PER_STEP * len(each)
            else:
                yield 0
                if (inside := _inside(each)) is not None:
                    left.append(inside)
                    break
        else:
            left.pop()


def _inside(value: Any) -> Iterator[Any] | None:
    """What a collection holds."""
    held: Any = getattr(value, "_Namespace__attrs") if isinstance(value, Namespace) else value  # noqa: B009
    kinds: tuple[Any, ...] = (list, tuple, Set, ValuesView)
    if isinstance(held, Mapping):
        entries = cast("Mapping[Any, Any]", held)
        return chain(entries, entries.values())
    return iter(held) if isinstance(held, kinds) else None


def _weighed(value: Any) -> Any:
    """Counts all that a value holds, as what writes or compares it reads that; gives it back."""
    if (steps := LEFT.get()) is not None:
        for size in pieces(value):
            steps.spend(1 + size // _CHARACTERS_PER_STEP)
    return value


def _spent(value: Any) -> Any:
    """Counts the length of a value; gives it back."""
    sized = isinstance(value, Sized) and not isinstance(value, type)
    _spend(1 + (len(value) if sized else 0))
    return value


def _sliced(value: Any) -> Any:
    """Counts a part that is copied as it is; gives it back."""
    _spend(1 + len(value) // _CHARACTERS_PER_STEP if isinstance(value, Sized) else 1)
    return value


def _written(value: Any) -> Any:
    """Counts a value that becomes part of the text; gives it back."""
    return _spent(value if isinstance(value, str) else _weighed(value))


def _counted(items: Any, count: Callable[[Any], Any] = _spent) -> Any:
    """What is gone over, each item of which counts."""
    if isinstance(items, Sized) or not hasattr(items, "__iter__"):
        return count(items)
    return (count(each) for each in items)


def _size(given: tuple[Any, ...], kind: type | tuple[type, ...] = (str, bytes)) -> int:
    """The largest number, or the length of the longest text, of what is given."""
    found = [each for each in given if isinstance(each, kind)]
    return max((abs(each) if isinstance(each, int) else len(each) for each in found), default=0)


def _spend_on(text: Any, name: str, given: tuple[Any, ...]) -> None:
    """Counts beforehand what a method of a text, or the filter of the same name, may make of it."""
    if name == "replace":
        parts = [each for each in given if isinstance(each, str | bytes)]
        _spend(max((text.count(one) * len(other) for one, other in permutations(parts, 2)), default=0))
    elif name == "join":
        _spend(len(text) * max((len(each) for each in given if isinstance(each, Sized)), default=0))
    elif name == "expandtabs":
        _spend(len(text) * _size(given, int))
    elif name in ("center", "ljust", "rjust", "zfill"):
        _spend(_size(given, int))
    elif name == "translate":
        tables: list[Any] = [each for each in given if isinstance(each, Mapping)]
        _spend(len(text) * max((_size((*each.values(),)) for each in tables), default=0))
    elif name in _BACKWARDS:
        _spend(len(text) * _size(given) // 64)


def _spend_on_conversions(format: str, given: Any) -> None:
    """Counts beforehand what `format % given` makes."""
    parts = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (given,)
    size = sum(1 + each for each in pieces(_weighed(given)))
    for match in _CONVERSION.finditer(format):
        widths = [_size(parts, int) if each == "*" else int(each or 0) for each in match.groups()]
        _spend(sum(widths) + size // _CHARACTERS_PER_STEP)


class _CountedFields:
    """Counts the fields of `str.format`."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Of `{0!r}`."""
        return super().convert_field(_weighed(value), conversion)  # pyright: ignore

    def format_field(self, value: Any, format_spec: str) -> str:
        """Of `{0:>9}`."""
        _weighed(value)
        _spend(sum(map(int, re.findall(r"\d+", format_spec))))
        return _spent(super().format_field(value, format_spec))  # pyright: ignore


class _Formatter(_CountedFields, SandboxedFormatter): ...


class _EscapeFormatter(_CountedFields, SandboxedEscapeFormatter): ...


class Counting(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which all counts towards `LEFT`; where that is not set, nothing does."""

    intercepted_binops = frozenset({"*", "**", "+", "-", "/", "//", "%"})

    def __init__(self, **named: Any) -> None:
        super().__init__(finalize=_written, **named)
        filters: Any = self.filters
        for name, run in self.filters.items():
            filters[name] = _counted_filter(name, run)
        for name in _COMPARING & set(self.tests):
            self.tests[name] = _counted_test(self.tests[name])
        filters["counted"] = _only_counting(_counted)
        filters["spent"] = _only_counting(_spent)
        filters["sliced"] = _only_counting(_sliced)
        filters["weighed"] = _only_counting(_weighed)
        filters["literal"] = _only_counting(lambda length: _spend(length) or "")
        del self.globals["lipsum"]

    def _parse(self, *given: Any) -> nodes.Template:  # pyright: ignore
        tree = super()._parse(*given)
        for parent in [tree, *tree.find_all(nodes.Node)]:
            _count_in(parent)
        return tree

    def wrap_str_format(self, value: Any) -> Any:
        """`str.format` and `str.format_map`, counted."""
        if super().wrap_str_format(value) is None:
            return None
        text = value.__self__
        formatter = (
            _EscapeFormatter(self, escape=text.escape) if isinstance(text, Markup) else _Formatter(self)
        )

        def format(*args: Any, **named: Any) -> str:
            if value.__name__ == "format_map":
                args, named = (), args[0]
            return type(text)(formatter.vformat(text, args, named))

        return format

    def call(self, context: Any, called: Any, *args: Any, **named: Any) -> Any:  # pyright: ignore
        """A call of a macro, a method, a function such as `range`, or a loop that recurses."""
        _spend(STEPS_PER_CALL)
        if isinstance(called, LoopContext):
            args = (_counted(args[0]), *args[1:])
        own, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
        if isinstance(own, str | bytes) and name == "join":
            args = tuple([*_counted(each)] if hasattr(each, "__iter__") else each for each in args)
        elif not isinstance(called, LoopContext):
            lazy = [isinstance(each, Iterator) and not isinstance(each, Sized) for each in args]
            args = tuple(_counted(each) if yes else each for each, yes in zip(args, lazy, strict=True))
        if isinstance(own, str | bytes):
            _weighed((own, args))
            _spend_on(own, name, (*args, *named.values()))
        elif isinstance(own, int):
            _spend(_size((*args, *named.values()), int))
        elif isinstance(own, list | tuple | range | Mapping):
            _weighed(args)
            _spent(own)
        return _spent(super().call(context, called, *args, **named))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """An operator on two values, unless what it gives is too much."""
        numbers = [each for each in (left, right) if isinstance(each, int)]
        if len(numbers) == 2:
            more = right if operator == "**" else 2
            if operator in ("*", "**") and max(each.bit_length() for each in numbers) * more > _MOST_BITS:
                raise TooMuch
            _weighed(numbers)
        elif operator == "*" and numbers:
            held = next(each for each in (left, right) if not isinstance(each, int))
            _spend(len(held) * max(numbers[0], 0) if isinstance(held, Sized) else 0)
        elif operator == "%" and isinstance(left, str):
            _spend_on_conversions(left, right)
        return _spent(super().call_binop(context, operator, left, right))


def _filtered(node: Any, name: str) -> Any:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _count_in(parent: Any) -> None:
    """Counts what the sandbox is not asked about."""
    for field, value in parent.iter_fields():
        if isinstance(value, list):
            value[:] = [_made_anew(each) for each in cast("list[Any]", value)]
        else:
            setattr(parent, field, _made_anew(value))
    if isinstance(parent, nodes.For):
        parent.iter = _filtered(parent.iter, "counted")
    elif isinstance(parent, nodes.Concat):
        parent.nodes = [_filtered(each, "weighed") for each in parent.nodes]
    elif isinstance(parent, nodes.Compare):
        kinds = {each.op for each in parent.ops}
        constant = any(
            isinstance(each, nodes.Const) for each in (parent.expr, *(one.expr for one in parent.ops))
        )
        if not constant or kinds & {"in", "notin"}:
            parent.expr = _filtered(parent.expr, "weighed")
            for each in parent.ops:
                each.expr = _filtered(each.expr, "weighed")
    elif isinstance(parent, nodes.Output):
        length = sum(
            len(str(each.as_const()))
            for each in parent.nodes
            if isinstance(each, nodes.TemplateData | nodes.Const)
        )
        if length > STEPS_PER_CALL:
            parent.nodes.append(_filtered(nodes.Const(length, lineno=parent.lineno), "literal"))


def _made_anew(node: Any) -> Any:
    """A node, counted where it is `a ~ b` or `a[1:]`, which are no operators that the sandbox sees."""
    if isinstance(node, nodes.Concat):
        return _filtered(node, "spent")
    is_slice = isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)
    return _filtered(node, "sliced") if is_slice else node


def _with_context(run: Any, context: Any) -> tuple[Any, ...]:
    """What a filter or test of Jinja wants first."""
    wanted = getattr(getattr(run, "jinja_pass_arg", None), "name", "")
    own = {"context": context, "eval_context": context.eval_ctx, "environment": context.environment}
    return (own[wanted],) if wanted else ()


def _only_counting(count: Callable[[Any], Any]) -> Any:
    """As a filter; one that is given the context is not run while the template is compiled."""

    def filter(context: Any, value: Any) -> Any:
        return count(value)

    return pass_context(filter)


def _counted_test(run: Any) -> Any:
    def test(context: Any, *args: Any, **named: Any) -> Any:
        _weighed((args, named))
        return run(*_with_context(run, context), *args, **named)

    return pass_context(test)


def _counted_filter(name: str, run: Any) -> Any:
    run = {"sum": _sum, "tojson": _to_json}.get(name, run)

    def filter(context: Any, value: Any, *args: Any, **named: Any) -> Any:
        _spend(STEPS_PER_CALL)
        given = (*args, *named.values())
        if name not in _AT_ONCE or not isinstance(value, Sized):
            value = _counted(value, _spent if name in _SHALLOW else _weighed)
        _weighed(given)
        if name == "join":
            value = [*cast("Iterator[Any]", value)]
            _spend(len(value) * sum(1 + each for each in pieces(given)))
        elif name == "format":
            _spend_on_conversions(str(value), args or named)
        elif name in ("replace", "trim"):
            _spend_on(str(value), {"trim": "strip"}.get(name, name), tuple(map(str, given)))
        elif name in _SIZES:
            lines = str(value).count("\n") + 1 if name == "indent" else 1
            _spend(lines * (_size(given, int) + _size(given)))
        if name in ("striptags", "urlize", "wordwrap"):
            length = len(str(value))
            _spend(length * (_size(given) + length // 16_384))
        return _spent(run(*_with_context(run, context), value, *args, **named))

    return pass_context(filter)


@pass_environment
def _sum(environment: Any, iterable: Any, attribute: Any = None, start: Any = 0) -> Any:
    items = [*iterable] if attribute is None else [*map(make_attrgetter(environment, attribute), iterable)]
    if all(isinstance(each, int | float) for each in (start, *items)):
        return sum(items, start)
    for each in items:
        start = _spent(start + each)
    return start


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
    if indent is None:
        return json.dumps(value, ensure_ascii=ensure_ascii)
    _spend(sum(1 for _ in pieces(value)) * _size((indent,), (int, str)))
    return "".join(map(_spent, json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent).iterencode(value)))

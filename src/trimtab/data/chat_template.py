"""Renders a chat template, the Jinja text that comes with a tokenizer, as transformers does.

The template runs in Jinja's sandbox. Its steps are counted, so that a template that never ends is refused. It gets no
date, so that a conversation gives the same text every day.
"""

import json
import re
from collections.abc import Iterator, Sequence, Sized
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from trimtab.data.formats.chat import Message
from trimtab.errors import input_error

LEAST_STEPS, STEPS_PER_CHARACTER, STEPS_PER_CALL = 2_000_000, 100, 20
"""Limits on the steps of a template: loop iterations, calls (several steps each), and characters that it joins or
writes. Published templates need a few steps for each character of a conversation."""
_MOST_BITS = 1_000_000
_WIDTH = re.compile(r"[0-9]{7}|\*")
"""Matches a format whose width is in the millions, or is an argument (`*`)."""


class Refused(Exception):
    """The template refuses these messages, such as two of the same role in a row; its text says why."""


def render_chat(
    template: str,
    messages: Sequence[Message],
    *,
    symbols: tuple[str, str],
    answer: bool,
    tools: Sequence[Any] = (),
) -> str:
    """The messages as one text; with `answer`, what comes before the next answer too. `symbols` are the start and the
    end symbol, `tools` the functions that the assistant may call.

    Raises Refused where the template does, and InputError for a template that is no Jinja or does not end.
    """
    from jinja2 import TemplateError

    start, end = symbols
    most = LEAST_STEPS + STEPS_PER_CHARACTER * sum(len(each.content) for each in messages)
    before = _LEFT.set(_Steps(most))
    try:
        return compiled(template).render(
            messages=[each.to_template() for each in messages],
            tools=[*tools] or None,
            add_generation_prompt=answer,
            bos_token=start,
            eos_token=end,
        )
    except (
        TemplateError, TypeError, AttributeError, LookupError, ValueError, ArithmeticError, MemoryError, RecursionError,
    ) as error:  # fmt: skip
        raise Refused(" ".join(str(error).split())[:200] or type(error).__name__) from None
    except _TooMuch:
        raise input_error(
            "the chat template of the tokenizer does not terminate",
            got=f"more than {most:,} steps for a conversation of {len(messages)} messages",
            allowed="a few loop iterations, calls and written characters for each character of the conversation",
            fix="repair chat_template.jinja, or take the tokenizer of the model's authors",
        ) from None
    finally:
        _LEFT.reset(before)


class _TooMuch(BaseException):
    """The template took too many steps. It is a BaseException, so that no handler mistakes it for a refusal."""


class _Steps:
    """The steps that a template may still take."""

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self, count: int) -> None:
        """Raises _TooMuch where there are no more."""
        self.left -= count
        if self.left < 0:
            raise _TooMuch


_CALL = range(STEPS_PER_CALL)
_LEFT: ContextVar[_Steps | None] = ContextVar("left", default=None)


def _spend(value: Any) -> Any:
    """Counts what a value holds; gives it back."""
    if (steps := _LEFT.get()) is not None:
        sized = isinstance(value, Sized) and not isinstance(value, type)
        steps.spend(1 + (len(value) if sized else 0))
    return value


def _counted(items: Any) -> Any:
    """What a loop goes over, each of which counts."""
    if isinstance(items, Sized) or not hasattr(items, "__iter__"):
        return _spend(items)
    return _one_by_one(iter(items))


def _one_by_one(items: Iterator[Any]) -> Iterator[Any]:
    for each in items:
        _spend(None)
        yield each


def _counting() -> Any:
    """The class of Jinja's sandbox that counts."""
    from jinja2 import nodes
    from jinja2.runtime import LoopContext
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Counting(ImmutableSandboxedEnvironment):
        """Counts turns of loops, calls, and the lengths of what they and operators give."""

        intercepted_binops = frozenset({"*", "**", "+", "%"})

        def _parse(self, *given: Any) -> nodes.Template:
            tree = super()._parse(*given)
            for loop in tree.find_all(nodes.For):
                loop.iter = _filtered(loop.iter, "counted")
            for parent in [tree, *tree.find_all(nodes.Node)]:
                _wrap_joined(parent)
            return tree

        def call(self, context: Any, called: Any, *args: Any, **named: Any) -> Any:  # pyright: ignore
            """A call of a macro, a method, a function such as `range`, or a loop that recurses."""
            own = getattr(called, "__self__", None)
            _refuse_large(own if isinstance(own, str) else "", *args, *named.values())
            _spend(_CALL)
            if isinstance(called, LoopContext):
                args = (_counted(args[0]), *args[1:])
            return _spend(super().call(context, called, *args, **named))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            """An operator on two values, unless what it gives is too long to be counted."""
            numbers = [each for each in (left, right) if isinstance(each, int)]
            if operator == "*" and len(numbers) == 1:
                held = next(each for each in (left, right) if not isinstance(each, int))
                _refuse_large("", len(held) * numbers[0] if isinstance(held, Sized) else 0)
            elif operator in ("*", "**") and len(numbers) == 2:
                more = right if operator == "**" else 2
                if max(each.bit_length() for each in numbers) * more > _MOST_BITS:
                    raise _TooMuch
            elif operator == "%" and isinstance(left, str):
                _refuse_large(left)
            return _spend(super().call_binop(context, operator, left, right))

    return Counting


def _filtered(node: Any, name: str) -> Any:
    from jinja2 import nodes

    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _wrap_joined(parent: Any) -> None:
    """Counts the text of `a ~ b`, which the sandbox does not treat as an operator."""
    from jinja2 import nodes

    for field, value in parent.iter_fields():
        if isinstance(value, nodes.Concat):
            setattr(parent, field, _filtered(value, "spent"))
        elif isinstance(value, list):
            value[:] = [_filtered(one, "spent") if isinstance(one, nodes.Concat) else one for one in value]


@lru_cache(maxsize=8)
def compiled(template: str) -> Any:
    """The template, ready to render. Source: `_compile_jinja_template` of transformers."""
    from jinja2 import TemplateError, nodes, pass_context
    from jinja2.ext import Extension, loopcontrols

    class Generation(Extension):
        """`{% generation %}` marks what the assistant says, and renders it."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Any) -> Any:
            """What is inside."""
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body, lineno=line)

    def refuse(message: str) -> None:
        raise TemplateError(message)

    environment = _counting()(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols], finalize=_spend
    )
    # A filter that is given the context is not run while the template is compiled.
    environment.filters["counted"] = pass_context(lambda context, items: _counted(items))
    environment.filters["spent"] = pass_context(lambda context, text: _spend(text))
    for name in ("center", "indent"):
        environment.filters[name] = _checked(environment.filters[name])
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = refuse
    try:
        return environment.from_string(template)
    except (TemplateError, RecursionError) as error:
        raise input_error(
            "the chat template of the tokenizer is no Jinja",
            got=" ".join(str(error).split())[:200],
            fix="repair chat_template.jinja, or take the tokenizer of the model's authors",
        ) from None


def _refuse_large(format: str, *given: Any) -> None:
    """Raises _TooMuch for a format, or a number that is given, of millions."""
    if _WIDTH.search(format) and ("%" in format or "{" in format):
        raise _TooMuch
    if any(isinstance(each, int) and each > 10 * LEAST_STEPS for each in given):
        raise _TooMuch


def _checked(filter: Any) -> Any:
    def checked(text: Any, width: Any = 4, *rest: Any, **named: Any) -> Any:
        _refuse_large("", width, *named.values())
        return filter(text, width, *rest, **named)

    return checked


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)

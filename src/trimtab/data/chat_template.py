"""Renders a chat template, the Jinja text that comes with a tokenizer, as transformers does.

It runs in Jinja's sandbox. The date is not offered to it, so that a conversation is the same text on every day.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from trimtab.data.formats.chat import Message
from trimtab.errors import input_error


class Refused(Exception):
    """The template refuses these messages, such as two of the same role in a row; its text says why."""


def render_chat(template: str, messages: Sequence[Message], *, symbols: tuple[str, str], answer: bool) -> str:
    """The messages as one text; with `answer`, what comes before the next answer too. `symbols` are the start and the
    end symbol.

    Raises Refused where the template does, and InputError for a template that is no Jinja.
    """
    from jinja2 import TemplateError

    start, end = symbols
    try:
        return compiled(template).render(
            messages=[each._asdict() for each in messages],
            add_generation_prompt=answer,
            bos_token=start,
            eos_token=end,
        )
    except (
        TemplateError, TypeError, AttributeError, LookupError, ValueError, ArithmeticError, MemoryError, RecursionError,
    ) as error:  # fmt: skip
        raise Refused(" ".join(str(error).split())[:200] or type(error).__name__) from None


@lru_cache(maxsize=8)
def compiled(template: str) -> Any:
    """The template, ready to render. Source: `_compile_jinja_template` of transformers."""
    from jinja2 import TemplateError, nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

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

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
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


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)

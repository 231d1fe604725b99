"""Renders a chat template, the Jinja text that comes with a tokenizer, as transformers does.

The template runs in Jinja's sandbox. Its steps are counted, so that a template that never ends is refused. It gets no
date, so that a conversation gives the same text every day.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from trimtab.data.formats.chat import Message
from trimtab.errors import input_error

LEAST_STEPS, STEPS_PER_CHARACTER = 2_000_000, 100
"""Limits on the steps of a template: loop iterations, calls (several steps each), and characters that it joins or
writes. Published templates need a few steps for each character of the messages and tools."""


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

    from trimtab.data.counted_jinja import LEFT, Steps, TooMuch, pieces

    start, end = symbols
    given = [each.to_template() for each in messages]
    most = LEAST_STEPS + STEPS_PER_CHARACTER * sum(1 + size for size in pieces((given, tools)))
    before = LEFT.set(Steps(most))
    try:
        return compiled(template).render(
            messages=given,
            tools=[*tools] or None,
            add_generation_prompt=answer,
            bos_token=start,
            eos_token=end,
        )
    except (
        TemplateError, TypeError, AttributeError, LookupError, ValueError, ArithmeticError, MemoryError, RecursionError,
    ) as error:  # fmt: skip
        raise Refused(" ".join(str(error).split())[:200] or type(error).__name__) from None
    except TooMuch:
        raise input_error(
            "the chat template of the tokenizer does not terminate",
            got=f"more than {most:,} steps for a conversation of {len(messages)} messages",
            allowed="a few loop iterations, calls and written characters for each character of the conversation",
            fix="repair chat_template.jinja, or take the tokenizer of the model's authors",
        ) from None
    finally:
        LEFT.reset(before)


@lru_cache(maxsize=8)
def compiled(template: str) -> Any:
    """The template, ready to render. Source: `_compile_jinja_template` of transformers."""
    from jinja2 import TemplateError, nodes
    from jinja2.ext import Extension, loopcontrols

    from trimtab.data.counted_jinja import Counting

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

    environment: Any = Counting(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    environment.globals["raise_exception"] = refuse
    try:
        return environment.from_string(template)
    except (TemplateError, RecursionError) as error:
        raise input_error(
            "the chat template of the tokenizer is no Jinja",
            got=" ".join(str(error).split())[:200],
            fix="repair chat_template.jinja, or take the tokenizer of the model's authors",
        ) from None

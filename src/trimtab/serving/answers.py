"""Answers that routes give, and the stream of what is made of a request."""

import re
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from trimtab.serving.batcher import Batcher, Made, Work
from trimtab.serving.connection import Answer, Events
from trimtab.serving.refused import json_bytes, refused

END = b"[DONE]"
"""The last event of a whole stream, as OpenAI's interface has it."""
_LINE_END = re.compile("\r\n|\n|\r")


def json_answer(value: Any) -> Answer:
    """A value as JSON."""
    return Answer(body=json_bytes(value))


async def made_of(work: Work) -> AsyncIterator[Made]:
    """Everything that the model makes of work that is in the queue."""
    while (made := await work.made()) is not None:
        yield made


async def wholes(batcher: Batcher, work: Work) -> list[Any]:
    """The whole result of each piece, in order; takes the work back where it is cancelled."""
    found: dict[int, Any] = {}
    try:
        async for made in made_of(work):
            if made.is_whole:
                found[made.piece.place] = made.result
    finally:
        batcher.withdraw(work)
    return [found[place] for place in sorted(found)]


def events(batcher: Batcher, work: Work, texts: AsyncIterator[bytes]) -> Events:
    """A stream of what is made of work."""
    return Events(texts, partial(batcher.withdraw, work))


def lines_of(text: str) -> list[str]:
    r"""The lines of a text; `\n`, `\r\n` and `\r` end one."""
    return _LINE_END.split(text)


def check_lines(lines: Sequence[str], *, max_lines: int, max_characters: int, name: str) -> None:
    """Refuses more lines, or longer ones, than the server takes."""
    if len(lines) > max_lines:
        raise refused(
            413,
            f"{name}: too many lines",
            got=f"{len(lines):,}",
            allowed=f"at most {max_lines:,} in a request",
            fix="divide them among several requests, or start the server with a larger --max-lines",
        )
    for number, line in enumerate(lines, start=1):
        if len(line) > max_characters:
            raise refused(
                413,
                f"{name}: line {number} is too long",
                got=f"{len(line):,} characters",
                allowed=f"at most {max_characters:,} characters a line",
                fix="divide it into sentences, or start the server with a larger --max-characters",
            )

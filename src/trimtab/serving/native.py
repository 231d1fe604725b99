"""`/translate` and `/generate`: the two commands as requests, in the same words."""

from collections.abc import AsyncIterator
from typing import Any

from trimtab.decode.continuation import Continuation
from trimtab.decode.generation_config import USUAL, GenerationConfig
from trimtab.inference.written_together import TextPart, WantedText
from trimtab.serving.answers import END, check_lines, events, json_answer, lines_of, made_of, wholes
from trimtab.serving.batcher import Batcher, Work
from trimtab.serving.connection import Answer, Events
from trimtab.serving.fields import Fields
from trimtab.serving.limits import ServeLimits
from trimtab.serving.models import ServedGenerator, ServedTranslator
from trimtab.serving.refused import json_bytes, refused
from trimtab.serving.texts import SAMPLING_KEYS, sampling_of, text_work

MOST_TAGS = 8
TRANSLATE_KEYS = ("lines", "text", "tags", "stream")
GENERATE_KEYS = ("prompt", "prompts", "max_tokens", "samples", *SAMPLING_KEYS, "stop", "stream")


def translation_work(
    model: ServedTranslator, given: dict[str, Any], limits: ServeLimits
) -> tuple[Work, Fields]:
    """The lines of a request to translate. Tokenizes, so it belongs in a thread."""
    fields = Fields(given, known=TRANSLATE_KEYS)
    key = fields.one_of("lines", "text")
    lines = lines_of(fields.text(key) or "") if key == "text" else (fields.texts(key) or [])
    check_lines(lines, max_lines=limits.max_lines, max_characters=limits.max_characters, name=key)
    tags = fields.texts("tags")
    if tags is not None and len(tags) > MOST_TAGS:
        raise refused(
            400, "tags: too many", got=str(len(tags)), allowed=f"at most {MOST_TAGS}", fix="leave some out"
        )
    return Work(model.checked_tags(tags), lines, model.costs(lines, name=key)), fields


async def translate(batcher: Batcher, work: Work, fields: Fields) -> Answer | Events:
    """The translations of lines that are in the queue: one for each, in order."""
    if fields.flag("stream"):
        return events(batcher, work, _translated(work))
    texts = await wholes(batcher, work)
    if "text" in fields.given:
        return json_answer({"translation": "\n".join(texts)})
    return json_answer({"translations": texts})


async def _translated(work: Work) -> AsyncIterator[bytes]:
    """Each line as soon as it and those before it are done."""
    found: dict[int, str] = {}
    place = 0
    async for made in made_of(work):
        found[made.piece.place] = made.result
        while place in found:
            yield json_bytes({"line": place + 1, "translation": found.pop(place)})
            place += 1
    yield END


def generation_work(
    model: ServedGenerator, given: dict[str, Any], limits: ServeLimits
) -> tuple[Work, Fields]:
    """The texts that a request wants. Tokenizes, so it belongs in a thread."""
    fields = Fields(given, known=GENERATE_KEYS)
    key = fields.one_of("prompt", "prompts")
    prompts = [fields.text(key) or ""] if key == "prompt" else (fields.texts(key) or [])
    samples = fields.whole("samples")
    generation = GenerationConfig(
        max_tokens=_or(fields.whole("max_tokens"), 256),
        samples=_or(samples, 1),
        sampling=sampling_of(fields, usual=USUAL),
        stop=tuple(fields.text_or_texts("stop") or ()),
    )
    return text_work(model, prompts, generation, streams=fields.flag("stream"), limits=limits), fields


async def generate(batcher: Batcher, work: Work, fields: Fields) -> Answer | Events:
    """The texts that are in the queue, in the form of `trimtab generate --json`."""
    if fields.flag("stream"):
        return events(batcher, work, _generated(work))
    return json_answer({"texts": [text.to_dict() for text in await wholes(batcher, work)]})


async def _generated(work: Work) -> AsyncIterator[bytes]:
    """Each part as soon as it is certain, and each text as a whole at its end."""
    async for made in made_of(work):
        wanted: WantedText = made.piece.content
        result: TextPart | Continuation = made.result
        if isinstance(result, TextPart):
            yield json_bytes(
                {"line": wanted.row.number + 1, "sample": wanted.sample + 1, "part": result.text}
            )
        else:
            yield json_bytes(result.to_dict())
    yield END


def _or(value: int | None, usual: int) -> int:
    return usual if value is None else value

"""The texts that a request wants from a language model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trimtab.decode.generation_config import GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.inference.written_together import WantedText
from trimtab.serving.answers import check_lines
from trimtab.serving.batcher import Work
from trimtab.serving.fields import Fields
from trimtab.serving.limits import ServeLimits
from trimtab.serving.models import ServedGenerator

SAMPLING_KEYS = ("temperature", "top_p", "min_p", "top_k", "seed")


def sampling_of(fields: Fields, *, usual: Sampling) -> Sampling | None:
    """How tokens are drawn; None where the temperature is 0."""
    if fields.number("temperature") == 0:
        return None
    numbers = {name: fields.number(name) for name in ("temperature", "top_p", "min_p")}
    wholes = {name: fields.whole(name) for name in ("top_k", "seed")}
    named: dict[str, Any] = {name: value for name, value in (numbers | wholes).items() if value is not None}
    return replace(usual, **named)


def text_work(
    model: ServedGenerator,
    prompts: Sequence[str],
    generation: GenerationConfig,
    *,
    streams: bool,
    limits: ServeLimits,
) -> Work:
    """The texts of some prompts, those of the first prompt first. Raises InputError for a prompt that is longer than
    the model can read."""
    check_lines(prompts, max_lines=limits.max_lines, max_characters=limits.max_characters, name="prompt")
    check_lines(
        [""] * (len(prompts) * generation.samples),
        max_lines=limits.max_lines,
        max_characters=limits.max_characters,
        name="samples",
    )
    rows, failure = model.generator.read(prompts)
    if failure is not None:
        raise failure
    wanted = [
        WantedText(row=row, sample=sample, generation=generation, streams=streams)
        for row in rows
        for sample in range(generation.samples)
    ]
    key = wanted[0].sampling if wanted else None
    return Work(key, wanted, [model.cost(each) for each in wanted])

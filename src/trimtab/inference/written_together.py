"""Texts of several requests in one batch, each with its own length, seed and stop strings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from trimtab.decode.continuation import Continuation
from trimtab.decode.continuing import SampledRows, continuations
from trimtab.decode.generation_config import GenerationConfig
from trimtab.decode.hypothesis import Symbols
from trimtab.decode.sample import Draw, uniform_numbers
from trimtab.decode.sampling import Sampling
from trimtab.inference.generator import Generator, PromptRow


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedText:
    """One text that a client waits for."""

    row: PromptRow
    sample: int
    """Number of the sample for this prompt, from 0."""
    generation: GenerationConfig
    streams: bool
    """Whether its parts are given as they are written."""

    @property
    def sampling(self) -> Sampling | None:
        """What texts of one batch have in common: everything about the drawing but the seed."""
        sampling = self.generation.sampling
        return None if sampling is None else replace(sampling, seed=0)


@dataclass(frozen=True, slots=True)
class TextPart:
    """What is new of a text that streams."""

    text: str


def longest_text(wanted: WantedText, generator: Generator) -> int:
    """Most tokens that a text has with its prompt."""
    return len(wanted.row.ids) + _limit(wanted, generator)


def written_together(
    generator: Generator, wanted: Sequence[WantedText], *, is_awaited: Callable[[int], bool]
) -> Iterator[list[tuple[int, TextPart | Continuation]]]:
    """The texts, token by token: the parts of those that stream, and each text as a whole when it ends, with its place
    in `wanted`; each is the text that `Generator.generate` gives for its prompt, sample and seed.

    All have the same `sampling`. Ends early when nothing is awaited any more, which `is_awaited` says of a place.
    """
    texts = [generator.begun(each.row, each.generation, streams=each.streams) for each in wanted]
    limits = [_limit(each, generator) for each in wanted]
    open_places = set(range(len(wanted)))
    steps = continuations(
        generator.model,
        [each.row.ids for each in wanted],
        limits=limits,
        symbols=Symbols.of(generator.tokenizer),
        sampled=_sampled(wanted, length=max(limits), device=generator.device),
        device=generator.device,
    )
    for step in steps:
        found: list[tuple[int, TextPart | Continuation]] = []
        for each in step:
            place = each.row
            if place not in open_places:
                continue
            text, asked = texts[place], wanted[place]
            part = text.add(each)
            ended = text.is_done or each.id == generator.tokenizer.end or len(text.ids) == limits[place]
            if ended:
                open_places.discard(place)
                part += text.rest()
            if part and asked.streams:
                found.append((place, TextPart(part)))
            if ended:
                whole = generator.finished(asked.row, asked.sample, text, asked.generation)
                found.append((place, whole))
        yield found
        open_places = {place for place in open_places if is_awaited(place)}
        if not open_places:
            return


def _limit(wanted: WantedText, generator: Generator) -> int:
    return min(wanted.generation.max_tokens, generator.room(wanted.row.ids))


def _sampled(wanted: Sequence[WantedText], *, length: int, device: torch.device) -> SampledRows | None:
    """The random numbers of each text, by its own seed."""
    shared = wanted[0].sampling
    assert all(each.sampling == shared for each in wanted), "texts of one batch are drawn in one way"
    if shared is None:
        return None
    numbers = [
        uniform_numbers(
            [Draw(each.row.number)],
            seed=each.generation.sampling.seed,
            samples=1,
            length=length,
            first_sample=each.sample,
        )
        for each in wanted
        if each.generation.sampling is not None
    ]
    return SampledRows(shared, torch.cat(numbers).to(device))

"""Context: the sentences before an example in its document, put before it as ids.

A row becomes `tags, sentence, separator, sentence, separator, current sentence, end`, on the source side or on both.
Tiedemann and Scherrer 2017 (arXiv 1708.05943); on the target's context that does not count in the loss: Post and
Junczys-Dowmunt 2023 (arXiv 2304.12959).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from trimtab.config.context import ContextTransform
from trimtab.config.data import DataConfig
from trimtab.data.mixture import Places
from trimtab.data.order import random_stream
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import Dropped, Pipeline, RandomStep
from trimtab.types import Ragged

# What a random stream is for; see `chunk` for the others.
_CONTEXT = 2


@runtime_checkable
class ReadsNeighbours(Protocol):
    """A corpus, as far as it matters here."""

    def before(self, line: int, count: int) -> Sequence[tuple[str, str]]:
        """At most `count` pairs that come before a line in its document, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class Contexts:
    """All that puts context before examples; may be pickled where its parts may."""

    config: ContextTransform
    corpora: Sequence[ReadsNeighbours]
    pipeline: Pipeline
    """What is done to the neighbours."""
    tokenizers: Tokenizers
    max_tokens: int

    def added(
        self, source: Ragged, target: Ragged, places: Places, *, num_tags: np.ndarray, seed: int
    ) -> tuple[Ragged, Ragged, np.ndarray]:
        """The rows behind their contexts, and for each how many leading target tokens do not count, int32.

        `num_tags` ids come before each source and stay there. No row becomes longer than `max_tokens`.
        """
        texts = self._texts(places, seed)
        left = iter(self.tokenizers.source.encode([pair[0] for few in texts for pair in few]))
        right = iter(self.tokenizers.target.encode([pair[1] for few in texts for pair in few]))
        sources: list[list[int]] = []
        targets: list[list[int]] = []
        prompt = np.zeros(len(texts), np.int32)
        separators = self.separators
        for number, few in enumerate(texts):
            neighbours = [(next(left)[:-1], next(right)[:-1]) for _ in few]
            row, written = source.row(number).tolist(), target.row(number).tolist()
            chosen = self._fitting(neighbours, len(row), len(written))
            tags = int(num_tags[number])
            sources.append([*row[:tags], *joined([each for each, _ in chosen], separators[0]), *row[tags:]])
            before = (
                joined([each for _, each in chosen], separators[1]) if self.config.sides == "both" else []
            )
            targets.append([*before, *written])
            prompt[number] = len(before) if self.config.loss == "current" else 0
        return Ragged.of(sources), Ragged.of(targets), prompt

    @property
    def separators(self) -> tuple[int, int]:
        """Ids of the separator, source and target; the second one means nothing where only sources have context."""
        both = self.config.sides == "both"
        target = self.tokenizers.target if both else self.tokenizers.source
        return self.tokenizers.source.id(self.config.separator), target.id(self.config.separator)

    def _texts(self, places: Places, seed: int) -> list[list[tuple[str, str]]]:
        found: list[list[tuple[str, str]]] = []
        numbers = zip(places.corpus.tolist(), places.line.tolist(), places.turn.tolist(), strict=True)
        for corpus, line, turn in numbers:
            count = self.config.sentences
            if self.config.vary:
                count = int(random_stream(seed, turn, corpus, line, _CONTEXT).integers(count + 1))
            pairs = self.corpora[corpus].before(line, count) if count else ()
            found.append(self._rewritten(pairs, self.pipeline.of(corpus)))
        return found

    def _rewritten(self, pairs: Sequence[tuple[str, str]], pipeline: Pipeline) -> list[tuple[str, str]]:
        """The neighbours as training reads them. What is dropped is left out; where all is learned, it is a border,
        for the model would learn that the sentence is not to be translated."""
        kept: list[tuple[str, str]] = []
        for pair in reversed(pairs):
            outcome = pipeline.apply(*pair)
            if not isinstance(outcome, Dropped):
                kept.append(outcome)
            elif self.config.loss == "all":
                break
        return kept[::-1]

    def _fitting(
        self, neighbours: list[tuple[list[int], list[int]]], source_tokens: int, target_tokens: int
    ) -> list[tuple[list[int], list[int]]]:
        source = fitting([len(each) for each, _ in neighbours], self.max_tokens - source_tokens)
        if self.config.sides == "source":
            return neighbours[len(neighbours) - source :]
        target = fitting([len(each) for _, each in neighbours], self.max_tokens - target_tokens)
        return neighbours[len(neighbours) - min(source, target) :]


def joined(sentences: Sequence[Sequence[int]], separator: int) -> list[int]:
    """The ids of the sentences, the separator after each."""
    return [id for sentence in sentences for id in (*sentence, separator)]


def fitting(lengths: Sequence[int], capacity: int) -> int:
    """How many of the last sentences fit into so many tokens, with a separator after each."""
    count = 0
    for length in reversed(lengths):
        capacity -= length + 1
        if capacity < 0:
            break
        count += 1
    return count


def context_of(config: DataConfig) -> ContextTransform | None:
    """The context of a recipe, None if there is none."""
    return next((each for each in config.transforms if isinstance(each, ContextTransform)), None)


def plan_contexts(
    config: DataConfig, corpora: Sequence[ReadsNeighbours], pipeline: Pipeline, tokenizers: Tokenizers
) -> Contexts | None:
    """What puts context before examples, None if nothing does; filters are for sentences that are learned."""
    context = context_of(config)
    if context is None:
        return None
    if context.loss == "all":
        pipeline = pipeline.without(RandomStep)
    else:
        pipeline = pipeline.of_translation
    tokenizers.source.id(context.separator)  # so that a vocabulary without the separator is reported now
    return Contexts(context, corpora, pipeline, tokenizers, config.max_tokens)

"""Which mixture is read at a step, and the stream of windows across the steps where that changes."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, runtime_checkable

from trimtab.config.data import DataConfig
from trimtab.data.mixture import Mixture
from trimtab.types import GlobalBatch


@runtime_checkable
class Weighted(Protocol):
    """A corpus, as far as it matters here."""

    @property
    def weight(self) -> float:
        """Times its natural rate, where no stage says otherwise."""
        ...

    @property
    def is_reversed(self) -> bool:
        """Whether it is the corpus before it, read the other way."""
        ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Stages:
    """The mixtures of a run, one after another, as a function of the step; their epochs are equally long."""

    mixtures: tuple[Mixture, ...]
    ends: tuple[int, ...] = ()
    """For each stage but the last, the step that the next one begins with."""

    def at(self, step: int) -> Mixture:
        """What the window of a step is taken from; steps are counted from 0."""
        return self.mixtures[self._number(step)]

    def steps_left(self, step: int) -> int | None:
        """Windows from this step on until the mixture changes; None in the last stage."""
        number = self._number(step)
        return self.ends[number] - step if number < len(self.ends) else None

    def _number(self, step: int) -> int:
        return sum(step >= end for end in self.ends)


def plan_stages(config: DataConfig, corpora: Sequence[Weighted], *, seed: int) -> Stages:
    """The mixture of the opened corpora in each stage of the recipe, which is one where it speaks of none.

    Both directions of a corpus have its weight, and each counts as a corpus of its own for the temperature.
    """
    weights = [corpus.weight for corpus in corpora]
    whole = Mixture.of(
        lengths=[len(corpus) for corpus in corpora],
        weights=weights,
        seed=seed,
        temperature=config.temperature,
    )
    if not config.stages:
        return Stages((whole,))
    files = iter(config.train)
    name, names = "", list[str]()
    for corpus in corpora:
        name = name if corpus.is_reversed else next(files).name
        names.append(name)
    mixtures = (
        whole.reweighted(
            [stage.weights.get(name, weight) for name, weight in zip(names, weights, strict=True)],
            temperature=config.temperature,
            stage=number,
        )
        for number, stage in enumerate(config.stages)
    )
    ends = [stage.until.steps for stage in config.stages if stage.until is not None]
    return Stages(tuple(mixtures), tuple(ends))


@dataclass(frozen=True, slots=True)
class StageShares:
    """What a stage is made of."""

    from_step: int
    examples_per_epoch: int
    shares: dict[str, float]
    """Of all examples, by the name of the corpus."""


def shares_of(stages: Stages, names: Sequence[str]) -> tuple[StageShares, ...]:
    """The shares of each stage; `names` are those of the opened corpora."""
    return tuple(
        StageShares(start, mixture.examples_per_epoch, dict(zip(names, mixture.shares, strict=True)))
        for start, mixture in zip((0, *stages.ends), stages.mixtures, strict=True)
    )


def render_shares(stages: Sequence[StageShares]) -> str:
    """The shares as plain text, one line a stage."""
    lines = [
        f"  from step {stage.from_step:,}: "
        + ", ".join(f"{name} {share:.1%}" for name, share in stage.shares.items())
        for stage in stages
    ]
    return "\n".join([f"shares of the {stages[0].examples_per_epoch:,} examples of an epoch", *lines])


WindowStream = Generator[GlobalBatch, None, None]


def across_stages(
    open_stream: Callable[[Mixture, int], WindowStream], stages: Stages, *, step: int, position: int
) -> WindowStream:
    """The windows from a step and its position on: where the stage changes, another mixture at the same position.

    `open_stream` gives the endless windows of one mixture from a position on. What it has read ahead when the stage
    ends is thrown away, so a window depends on its step and position alone, wherever a run was interrupted.
    """
    while True:
        left = stages.steps_left(step)
        end = None if left is None else step + left
        with closing(open_stream(stages.at(step), position)) as stream:
            for window in islice(stream, left):
                yield window
                step, position = step + 1, window.position
        if step != end:
            return

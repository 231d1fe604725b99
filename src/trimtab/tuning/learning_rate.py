"""The learning rate range test: short runs at rising rates, each from the same state and over the same steps.

Source: Smith, arXiv 1506.01186, section 3.3. There one run raises the rate as it goes, so that what a rate shows
depends on those before it. Here each rate has a run of its own, and is judged by the loss on steps that no run has
learned from.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from trimtab.errors import RunFailed
from trimtab.progress import Progress, Silent
from trimtab.step.schedule import peak_factor
from trimtab.tuning.trial import RestorePoint, Source, Trial, opened
from trimtab.types import Batch

LOWEST, HIGHEST = 1e-6, 1.0
PER_DECADE = 2
"""Rates a decade; the next is about three times as high."""
STEPS, HELD = 20, 4
"""Steps of a run, and steps after them on whose batches it is judged."""
RISE = 0.25
"""Of a run, in which the rate rises from zero, as a warmup does."""
AS_GOOD = 0.95
"""A rate whose loss has fallen by this share of the largest fall is as good as the best, for so short a run."""
BELOW_EDGE = 3.0
"""How far a suggestion stays below the first rate that diverges."""


@dataclass(frozen=True, slots=True)
class RateTried:
    """What a short run at one rate led to."""

    learning_rate: float
    loss: float
    """On the held steps after it, nats per target; infinite or NaN where the run broke."""
    losses: tuple[float, ...]
    """Of its own steps, each before its update."""

    @property
    def finite(self) -> bool:
        """Whether all its losses are numbers."""
        return all(map(math.isfinite, (self.loss, *self.losses)))


@dataclass(frozen=True, slots=True)
class RateRange:
    """The result of a range test."""

    name: str
    start_loss: float
    """On the held steps, before any of the runs."""
    tried: tuple[RateTried, ...]
    best: RateTried | None
    """The lowest loss, if it is below that of the start."""
    edge: RateTried | None
    """The lowest rate above the best that ended above the start, or broke."""
    suggested: float | None
    """For `step.optimizer.learning_rate`; None where no rate learned anything."""
    reason: str
    current: float
    """`step.optimizer.learning_rate` of the recipe."""
    steps: int
    num_targets: int
    """Of a step, on average."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a loss that is no number is null."""

        def plain(loss: float) -> float | None:
            return loss if math.isfinite(loss) else None

        return {
            "recipe": self.name,
            "suggested": self.suggested,
            "reason": self.reason,
            "current": self.current,
            "start_loss": plain(self.start_loss),
            "best": self.best.learning_rate if self.best else None,
            "diverges_from": self.edge.learning_rate if self.edge else None,
            "steps": self.steps,
            "targets_per_step": self.num_targets,
            "tried": [
                {
                    "learning_rate": each.learning_rate,
                    "loss": plain(each.loss),
                    "losses": [plain(loss) for loss in each.losses],
                }
                for each in self.tried
            ],
        }


def find_learning_rate(
    recipe: Source,
    *,
    overrides: Sequence[str] | dict[str, Any] = (),
    steps: int = STEPS,
    lowest: float = LOWEST,
    highest: float = HIGHEST,
    device: str | None = None,
    progress: Progress | None = None,
) -> RateRange:
    """Tries learning rates on a recipe, or on a run at a checkpoint (`runs/my@2000`), and suggests one.

    Each rate is a peak, as `step.optimizer.learning_rate` is for the schedules that multiply it; it rises over the
    first quarter of `steps`, then stays. The data, their order, the dropout and `tokens_per_step` are those of the
    run's next steps. Nothing is written. Raises InputError for wrong input, RunFailed where the loss is not finite at
    the start.
    """
    progress = progress or Silent()
    with opened(recipe, overrides, device=device, progress=progress) as trial:
        return rate_range(trial, steps=steps, rates=rates_between(lowest, highest), progress=progress)


def rates_between(lowest: float, highest: float) -> list[float]:
    """Both ends and what lies between, evenly on a logarithmic axis, two or more a decade."""
    count = max(1, math.ceil(PER_DECADE * math.log10(highest / lowest) - 1e-9))
    return [float(f"{lowest * (highest / lowest) ** (each / count):.3g}") for each in range(count + 1)]


def rate_range(trial: Trial, *, steps: int, rates: Sequence[float], progress: Progress) -> RateRange:
    """The test on an opened run, which is afterwards as it was before, to the bit."""
    point = RestorePoint(trial.parts)
    batches = trial.batches(steps + HELD)
    learned, held = batches[:steps], batches[steps:]
    try:
        start = held_loss(trial, held)
        if not math.isfinite(start):
            raise RunFailed(
                "the loss is not finite before the first update; `trimtab train` says which check fails"
            )
        tried: list[RateTried] = []
        for rate in rates:
            point.restore()
            tried.append(short_run(trial, learned, held, rate=rate))
            progress.message(_told(tried[-1], start))
            if len(tried) > 1 and all(_above(each, start) for each in tried[-2:]):
                break  # higher rates are worse still
    finally:
        point.restore()
    step = trial.parts.recipe.step
    factor = peak_factor(step.schedule, dim=trial.parts.recipe.model.dim)
    best, edge, suggested, reason = judged(tried, start)
    targets = sum(batch.num_targets for packs in learned for batch in packs)
    return RateRange(
        name=trial.name,
        start_loss=start,
        tried=tuple(tried),
        best=best,
        edge=edge,
        suggested=None if suggested is None else float(f"{suggested / factor:.3g}"),
        reason=reason,
        current=step.optimizer.learning_rate,
        steps=steps,
        num_targets=round(targets / max(1, steps)),
    )


def short_run(
    trial: Trial, learned: Sequence[Sequence[Batch]], held: Sequence[Sequence[Batch]], *, rate: float
) -> RateTried:
    """A run from the state at hand, with the dropout of the run's next steps."""
    parts, losses = trial.parts, list[float]()
    rise = max(1, math.ceil(RISE * len(learned)))
    parts.model.train()
    for number, packs in enumerate(learned):
        parts.stepper.begin(trial.at(number))
        on_device = [pack.to(parts.device) for pack in packs]
        report = parts.stepper.take_step(on_device, learning_rate=rate * min(1.0, (number + 1) / rise))
        losses.append(float(report.loss))
        if not math.isfinite(losses[-1]):
            return RateTried(rate, math.nan, tuple(losses))
    return RateTried(rate, held_loss(trial, held), tuple(losses))


@torch.no_grad()
def held_loss(trial: Trial, held: Sequence[Sequence[Batch]]) -> float:
    """Nats per target on batches, without dropout."""
    parts, total, targets = trial.parts, 0.0, 0
    parts.model.eval()
    for packs in held:
        for pack in packs:
            total += float(parts.stepper.objective(pack.to(parts.device)).loss)
            targets += pack.num_targets
    return total / max(1, targets)


def _above(tried: RateTried, start: float) -> bool:
    return not tried.finite or tried.loss >= start


def judged(
    tried: Sequence[RateTried], start: float
) -> tuple[RateTried | None, RateTried | None, float | None, str]:
    """The best rate, the first above it that diverges, the suggestion and its reason."""
    learned = [each for each in tried if not _above(each, start)]
    if not learned:
        return (
            None,
            None,
            None,
            (
                f"no rate brought the loss below {start:.4f}, the starting loss: try more steps (--steps) or lower "
                f"rates "
                "(--lowest)"
            ),
        )
    best = min(learned, key=lambda each: each.loss)
    edge = next(
        (each for each in tried if each.learning_rate > best.learning_rate and _above(each, start)), None
    )
    fall = AS_GOOD * (start - best.loss)
    as_good = [each for each in learned if start - each.loss >= fall]
    allowed = [
        each
        for each in as_good
        if edge is None or each.learning_rate <= edge.learning_rate / BELOW_EDGE * (1 + 1e-9)
    ]
    chosen = max(allowed, key=lambda each: each.learning_rate) if allowed else None
    rate = chosen.learning_rate if chosen else min(best.learning_rate, edge.learning_rate / BELOW_EDGE)  # type: ignore[union-attr]
    return best, edge, rate, " ".join(_reasons(best, edge, chosen, start, last=tried[-1]))


def _reasons(
    best: RateTried, edge: RateTried | None, chosen: RateTried | None, start: float, *, last: RateTried
) -> Iterator[str]:
    """Why this rate, in sentences."""
    yield f"The loss fell from {start:.4f} to {best.loss:.4f} at {best.learning_rate:.3g}, lower than at other rates."
    if chosen is None:
        yield (
            f"That is too close to {edge.learning_rate:.3g}, where training diverges, "  # type: ignore[union-attr]
            "so a third of that rate is suggested."
        )
    elif chosen.learning_rate > best.learning_rate:
        yield (
            f"{chosen.learning_rate:.3g} reaches at least 95% of the largest decrease, and short runs favor low rates "
            "(arXiv 1803.02021), so the higher one is suggested."
        )
    if edge is not None and chosen is not None:
        factor = edge.learning_rate / chosen.learning_rate
        yield f"{edge.learning_rate:.3g}, {factor:.2g} times higher, ends above the starting loss or diverges."
    if edge is None and best is last:
        yield "The highest rate that was tried is the best one: try higher ones (--highest)."
    yield "A long run may need a different learning rate: also try one third of it and three times it."


def _told(tried: RateTried, start: float) -> str:
    if not tried.finite:
        return f"learning rate {tried.learning_rate:.3g}: not finite after {len(tried.losses)} steps"
    return f"learning rate {tried.learning_rate:.3g}: loss {tried.loss:.4f} ({tried.loss - start:+.4f})"

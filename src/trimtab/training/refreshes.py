"""Whether a moving average is refreshed often enough, where the length of a run is not written in steps.

For a length in steps reading the recipe is enough (`config.moving_average`). Epochs and tokens are a number of steps
once the data is known, minutes once the pace is.
"""

from collections.abc import Iterator

from trimtab.config.moving_average import MOST_OF_FIRST_WEIGHTS, of_first_weights
from trimtab.finding import Finding
from trimtab.run_findings.preflight import AVERAGE_OF_FIRST_WEIGHTS
from trimtab.tasks.examples import Checked
from trimtab.types import TrainState

SLACK = 1.1
"""An estimate of the number of steps may be too low by so much."""
CLOCK_IS_KNOWN = 0.5
"""From this share of a run on its pace says how many steps it will have: the first ones are slow."""


def few_refreshes(parts: Checked) -> Iterator[Finding]:
    """Before the first step, for epochs and tokens, by what an epoch of the data holds."""
    length = parts.recipe.length
    if parts.recipe.step.ema is not None and length.unit in ("epochs", "tokens"):
        each = parts.datasets.targets_per_epoch if length.unit == "epochs" else 1.0
        yield from _judged(parts, SLACK * steps_of(parts, length.count * each))


def few_refreshes_so_far(parts: Checked, state: TrainState) -> Iterator[Finding]:
    """While it trains, for minutes, by the pace so far."""
    length = parts.recipe.length
    timed = parts.recipe.step.ema is not None and length.unit == "minutes"
    if timed and parts.clock.share(length, state) >= CLOCK_IS_KNOWN:
        yield from _judged(parts, SLACK * parts.clock.in_steps(length, state))


def steps_of(parts: Checked, targets: float) -> float:
    """About how many steps so many target tokens make."""
    warmup, steps = parts.recipe.step.batch_warmup, 0
    while warmup is not None and steps < warmup.over.steps and targets > 0:
        targets -= parts.batching.tokens_at(steps)
        steps += 1
    return steps + max(0.0, targets) / parts.recipe.step.tokens_per_step


def _judged(parts: Checked, steps: float) -> Iterator[Finding]:
    ema = parts.recipe.step.ema
    assert ema is not None, "an average is kept"
    if parts.recipe.begins_trained:
        return  # the first weights are trained ones
    refreshes = int(steps) // ema.every
    share = of_first_weights(ema, refreshes)
    if share > MOST_OF_FIRST_WEIGHTS:
        yield AVERAGE_OF_FIRST_WEIGHTS.found(
            f"{parts.recipe.length} are about {int(steps):,} steps, so the moving average is refreshed "
            f"{refreshes:,} times and at the end {share:.0%} of it are the untrained first weights (bound "
            f"{MOST_OF_FIRST_WEIGHTS:.0%})"
        )

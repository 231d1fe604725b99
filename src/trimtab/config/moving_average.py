"""What must hold of a moving average of the weights, so that it is one of weights that were trained."""

from collections.abc import Iterator

from trimtab.config.complaint import Complaint
from trimtab.config.run import Recipe
from trimtab.config.step import Ema

MOST_OF_FIRST_WEIGHTS = 0.01
"""Share of a moving average that may still be what was there before the first update."""


def moving_average_contradictions(recipe: Recipe) -> Iterator[Complaint]:
    """One that is scored and not kept, or that would hold the first weights at the end of a run of so many steps."""
    ema, length = recipe.step.ema, recipe.length
    if recipe.evaluate.weights == "ema" and ema is None:
        yield Complaint(
            path="evaluate.weights",
            what="needs an average of the weights, which this recipe does not keep",
            got="ema, without `step.ema`",
            allowed="raw, or ema with `step.ema`",
            fix="set `step.ema.decay: 0.9999`, or `evaluate.weights: raw`",
        )
    if ema is None or length.unit != "steps" or recipe.begins_trained:
        return
    refreshes = length.steps // ema.every
    first = of_first_weights(ema, refreshes)
    if first > MOST_OF_FIRST_WEIGHTS:
        seldom = ema.warmup or of_first_weights(ema, length.steps) <= MOST_OF_FIRST_WEIGHTS
        yield Complaint(
            path="step.ema.every" if seldom else "step.ema.decay",
            what=f"at the end of the run {first:.0%} of the average would still be the initial weights",
            got=f"every {ema.every} updates, so {refreshes} refreshes in {length}"
            if seldom
            else f"{ema.decay}, without `warmup`, for {refreshes} refreshes",
            allowed=f"at most {MOST_OF_FIRST_WEIGHTS:.0%} of it",
            fix=_fix(ema, seldom=seldom),
        )


def _fix(ema: Ema, *, seldom: bool) -> str:
    if not seldom:
        return "leave `step.ema.warmup` on, or lower the decay"
    if ema.every > 1:
        return "lower `step.ema.every`"
    return "raise `length`, or keep no average: set `step.ema: null` and `evaluate.weights: raw`"


def of_first_weights(ema: Ema, refreshes: int) -> float:
    """The share of the first weights in the average after so many refreshes."""
    share = 1.0
    for number in range(1, refreshes + 1):
        share *= min(ema.decay, (1 + number) / (10 + number)) if ema.warmup else ema.decay
        if share <= MOST_OF_FIRST_WEIGHTS:
            break
    return share

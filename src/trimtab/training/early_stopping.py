"""How many evaluations count against `evaluate.patience`: of the metric that chooses the best, or of several."""

import math
from collections.abc import Mapping
from typing import Any

from trimtab.config.run import EvaluateConfig
from trimtab.metrics.catalogue import metric_of

LOSS_DIGITS = 4
"""Losses that differ by less are equal."""


def rank_of(metric: str, value: float, loss: float) -> tuple[float, float]:
    """What the better evaluation has more of: its value, and of equal values the lower loss. A value that is not finite
    is the worst, and so is a loss that is no number."""
    sign = -1 if metric_of(metric).lower_is_better else 1
    return (
        sign * value if math.isfinite(value) else -math.inf,
        -math.inf if math.isnan(loss) else -round(loss, LOSS_DIGITS),
    )


def counted(old: Mapping[str, Any], *, value: float, warming_up: bool) -> int:
    """How many evaluations have passed since the best one, `old`, with one more that is no better.

    Evaluations in the warmup do not count, and none before the metric has moved: early in a run many scores are the
    same, and a loss may rest on a plateau before it falls.
    """
    moved = old.get("moved", False) or old.get("since", 0) > 0 or is_another(old["value"], value)
    return old.get("since", 0) + (moved and not warming_up)


def is_another(one: float, other: float) -> bool:
    """Whether two scores differ by more than rounding."""
    return round(one, LOSS_DIGITS) != round(other, LOSS_DIGITS) if math.isfinite(one + other) else True


def watched(
    before: Mapping[str, Any], scores: Mapping[str, Any], config: EvaluateConfig, *, warming_up: bool
) -> dict[str, Any]:
    """What a state remembers of each metric that `evaluate.stop_on` names, with one more evaluation, and as `since` how
    many evaluations count against the patience; empty without `stop_on`. `before` is what it remembered."""
    if config.stop_on is None:
        return {}
    known = before.get("stop_on", {})
    found = {
        metric: _after(known.get(metric), metric, scores, warming_up=warming_up)
        for metric in config.stop_on.metrics
    }
    waits = [each["since"] for each in found.values()]
    return {"stop_on": found, "since": max(waits) if config.stop_on.any else min(waits)}


def _after(
    old: Mapping[str, Any] | None, metric: str, scores: Mapping[str, Any], *, warming_up: bool
) -> dict[str, Any]:
    """What is remembered of one metric."""
    value, loss = scores[metric], scores.get("loss", math.nan)
    new = {"value": value, "loss": loss, "since": 0}
    if old is None:
        return {**new, "moved": False}
    if rank_of(metric, value, loss) > rank_of(metric, old["value"], old["loss"]):
        return {**new, "moved": old["moved"] or is_another(old["value"], value)}
    since = counted(old, value=value, warming_up=warming_up)
    return {**old, "since": since, "moved": old["moved"] or is_another(old["value"], value)}

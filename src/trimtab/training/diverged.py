"""S908: a run that ends worse than a model that knows nothing, perhaps too soon for the guard to have seen it."""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from trimtab.finding import Finding
from trimtab.flow import Refusal
from trimtab.guard.outlier import median

LAST = 3
"""Steps at the end of a run, the middle one of whose losses counts: one step may be bad by chance."""
FAR_ABOVE = 1.5
"""Times the logarithm of the vocabulary; an untrained model is within 15% of it."""
LEFT_OUT = frozenset(each.name.lower() for each in (Refusal.OVERFLOW, Refusal.MASKED))
"""Steps that say nothing about the weights."""


def ended_diverged(steps: Iterable[Mapping[str, Any]], *, num_ids: int) -> Finding | None:
    """The finding of a whole run, whose steps are lines of `metrics.jsonl`, with a vocabulary of so many ids.

    A loss above that of the first step counts alone, so that warm-started weights may be far off at first.
    """
    counted = (step for step in steps if "loss" in step and step.get("refused") not in LEFT_OUT)
    if (first := next(counted, None)) is None:
        return None
    last = deque([first], maxlen=LAST)
    last.extend(counted)
    untrained = math.log(num_ids)
    bound = max([FAR_ABOVE * untrained, *filter(math.isfinite, [_loss(first)])])
    if median([_loss(step) for step in last]) <= bound:
        return None
    losses = ", ".join(map(_told, last))
    return Finding(
        code="S908",
        name="ended-diverged",
        severity="error",
        message=f"the losses of the last steps are {losses}; a model that knows nothing has ln(vocabulary), "
        f"{untrained:.4g}",
        why="The weights are worse than none. The guard compares a step with the accepted ones before it, and a short "
        "run has too few of them.",
        fix="begin anew with a lower step.optimizer.learning_rate, such as a tenth, or a longer warmup",
    )


def _loss(step: Mapping[str, Any]) -> float:
    """Nats per target; of a step that was not finite, infinity."""
    loss = step["loss"]  # a text, such as "nan", where it is no number
    is_finite = isinstance(loss, int | float) and step.get("refused") != Refusal.NOT_FINITE.name.lower()
    return loss if is_finite else math.inf


def _told(step: Mapping[str, Any]) -> str:
    loss = step["loss"]
    shown = f"{loss:.4g}" if isinstance(loss, int | float) else str(loss)
    return f"{shown} (not applied)" if step.get("skipped") else shown

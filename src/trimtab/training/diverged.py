"""S908: a run that ends worse than an untrained model, perhaps too early for the guard to notice."""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from trimtab.finding import Finding
from trimtab.guard.outlier import median
from trimtab.run_findings.steps import ENDED_DIVERGED
from trimtab.types import SkipReason

LAST = 3
"""Steps at the end of a run, the middle one of whose losses counts: one step may be bad by chance."""
FAR_ABOVE = 1.5
"""Times the loss of an untrained model; an untrained model is within 15% of it."""
FIRST = 1.05
"""Times the loss of the first step, from which weights that knew something else may have begun."""
LEFT_OUT = frozenset(
    each.name.lower()
    for each in (SkipReason.OVERFLOW, SkipReason.MASKED, SkipReason.LOSS_SPIKE, SkipReason.GRADIENT_SPIKE)
)
"""Steps that did not move the weights and say nothing about them: windows may be bad where weights are good."""


def ended_diverged(steps: Iterable[Mapping[str, Any]], *, untrained: float, name: str) -> Finding | None:
    """The finding of a whole run, whose steps are lines of `metrics.jsonl`; a model that has learned nothing loses
    `untrained` nats a target, which is called `name`.

    Warm-started weights may be far off at first, so losses must also be above that of the first step.
    """
    counted = (step for step in steps if "loss" in step and step.get("refused") not in LEFT_OUT)
    if (first := next(counted, None)) is None:
        return None
    last = deque([first], maxlen=LAST)
    last.extend(counted)
    above = f"{FAR_ABOVE:g} times {name}, which a model that knows nothing has ({untrained:.4g})"
    bound = FAR_ABOVE * untrained
    if bound < FIRST * _loss(first) < math.inf:
        above, bound = (
            f"{FIRST:g} times the loss of the first step ({_loss(first):.4g})",
            FIRST * _loss(first),
        )
    if median([_loss(step) for step in last]) <= bound:
        return None
    losses = ", ".join(map(_shown, last))
    return ENDED_DIVERGED.found(f"the losses of the last steps are {losses}, most of them above {above}")


def _loss(step: Mapping[str, Any]) -> float:
    """Nats per target; of a step that was not finite, infinity."""
    loss = step["loss"]  # a text, such as "nan", where it is no number
    is_finite = isinstance(loss, int | float) and step.get("refused") != SkipReason.NOT_FINITE.name.lower()
    return loss if is_finite else math.inf


def _shown(step: Mapping[str, Any]) -> str:
    loss = step["loss"]
    shown = f"{loss:.4g}" if isinstance(loss, int | float) else str(loss)
    return f"{shown} (not applied)" if step.get("skipped") else shown

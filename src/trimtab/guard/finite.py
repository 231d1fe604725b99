"""S901: a loss or a gradient norm that is no finite number."""

import math

from trimtab.finding import Finding


def non_finite(loss: float, grad_norm: float) -> Finding | None:
    """The finding where one of both is NaN or infinite."""
    return None if math.isfinite(loss) and math.isfinite(grad_norm) else not_applied(loss, grad_norm)


def not_applied(loss: float, grad_norm: float, *, step: str = "the update") -> Finding:
    """Says so of a step with these numbers."""
    return Finding(
        code="S901",
        name="non-finite-step",
        severity="warning",
        message=f"{step} was not applied: loss {loss:g}, gradient norm {grad_norm:g}",
        why="A number that is not finite would have made every weight NaN. Weights and moments are as before it.",
        fix="a few in a run are harmless; many call for a lower learning rate, a longer warmup, or fp32",
    )

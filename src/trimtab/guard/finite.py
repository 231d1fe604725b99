"""S901: a loss or a gradient norm that is no finite number."""

import math

from trimtab.finding import Finding
from trimtab.run_findings.steps import NON_FINITE_STEP


def non_finite(loss: float, grad_norm: float) -> Finding | None:
    """The finding where one of both is NaN or infinite."""
    return None if math.isfinite(loss) and math.isfinite(grad_norm) else not_applied(loss, grad_norm)


def not_applied(loss: float, grad_norm: float, *, step: str = "the update") -> Finding:
    """Says so of a step with these numbers."""
    return NON_FINITE_STEP.found(f"{step} was skipped: loss {loss:g}, gradient norm {grad_norm:g}")

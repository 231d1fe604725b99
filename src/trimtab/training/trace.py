"""Where NaN or infinity came from in a window: the first module and tensor that was not finite."""

import torch

from trimtab.build import Parts
from trimtab.finding import Finding
from trimtab.run_findings.steps import NON_FINITE_TRACED
from trimtab.types import GlobalBatch
from trimtab.watch.non_finite import NonFinite, traced


def trace(parts: Parts, window: GlobalBatch, *, step: int) -> NonFinite | None:
    """The first tensor that is not finite when the window of `step` (counted from 1) is run as training runs it.

    Pack by pack with the step's own dropout, by the present weights; None if all is finite. Gradients, random state
    and weights are left as they were. Slow: for the one step that was refused.
    """
    devices = [parts.device] if parts.device.type == "cuda" else []
    targets = max(1, window.num_targets)
    with torch.random.fork_rng(devices=devices):
        parts.stepper.reseed(step - 1)
        for pack in (each.to(parts.device) for each in parts.stream.cut(window, step - 1)):
            found = traced(
                parts.model,
                lambda pack=pack: parts.stepper.scale.up(parts.stepper.objective(pack).objective / targets),
            )
            if found is not None:
                return found
    return None


def non_finite_traced(found: NonFinite, *, step: int) -> Finding:
    """Says what was traced."""
    return NON_FINITE_TRACED.found(f"step {step}: {found}", where=found.name)

"""The loss before training, and the gradient of one window whole and in four pieces, which must agree."""

import math
from collections.abc import Iterator

import torch

from trimtab.finding import Finding
from trimtab.run_findings.preflight import FIRST_LOSS_OFF, GRADIENT_DEPENDS_ON_CUT
from trimtab.step.accumulate import accumulate
from trimtab.tasks.examples import Checked, CutTwoWays
from trimtab.training.preflight.weights import gathered

FIRST_LOSS_TOLERANCE = 0.15


def first_loss(parts: Checked) -> Iterator[Finding]:
    """The loss of the untrained model against that of a model that knows nothing."""
    parts.model.eval()
    batches = parts.examples.first()
    with torch.no_grad():
        loss = sum(float(parts.stepper.objective(batch).loss) for batch in batches)
    loss /= sum(batch.num_targets for batch in batches)
    expected, name = parts.task.untrained(parts.datasets)
    if parts.recipe.begins_trained and math.isfinite(loss):
        return  # its weights know something already
    if not abs(loss - expected) <= FIRST_LOSS_TOLERANCE * expected:
        yield FIRST_LOSS_OFF.found(
            f"the untrained model's loss is {loss:.3f}, {name} is {expected:.3f}",
            severity="error" if not math.isfinite(loss) else "warning",
        )


CUT_TOLERANCE = {"fp32": 1e-4, "tf32": 1e-2, "bf16_mixed": 3e-2, "fp16_mixed": 1e-2, "bf16": 3e-2}
"""Relative difference of two gradients that rounding may cause; means of means gave 0.3 on a small model, sums of
means 3. A window where the input of a ReLU is within rounding of zero, so that its side depends on the cut, was seen to
differ by 1.5e-4 in fp32 (and by 1e-15 in float64); wrong arithmetic differs in every window."""


def cut_two_ways(parts: Checked) -> Iterator[Finding]:
    """What `accumulate` makes of four micro-batches against the gradient of the window's loss, written out.

    A window that agrees settles it; an error is what three different windows show.
    """
    parts.model.eval()  # dropout would differ between the two
    bound = CUT_TOLERANCE[parts.precision]
    differences: list[tuple[float, int]] = []
    for cut in parts.examples.cuts():
        differences.append(difference_of(parts, cut))
        if differences[-1][0] <= bound:
            return
    (first, packs), *others = differences
    also = ", ".join(f"{difference:.2g}" for difference, _ in others)
    yield GRADIENT_DEPENDS_ON_CUT.found(
        f"cut in {packs} packs a window's gradient differs by {first:.2g} of its norm (bound {bound:g})"
        + (f"; in other windows by {also}" if also else "")
    )


def difference_of(parts: Checked, cut: CutTwoWays) -> tuple[float, int]:
    """How far the gradient of the window in pieces is from that of the whole, as a share of its norm; and the number of
    packs that the pieces are."""
    (parts.stepper.objective(cut.whole).objective / cut.num_targets).backward()
    whole = gathered(parts.model)
    accumulate(parts.stepper.objective, cut.pieces)
    return float((whole - gathered(parts.model)).norm() / whole.norm()), len(cut.pieces)

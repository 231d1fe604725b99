"""One window in one pack and in four: accumulated, the gradient must be that of the whole."""

from collections.abc import Iterator

from trimtab.build import Parts
from trimtab.finding import Finding
from trimtab.flow import Window
from trimtab.step.accumulate import accumulate
from trimtab.training.preflight.probe import (
    gathered,
    in_four,
    narrowed,
    on_device,
    windows_to_cut,
)

CUT_TOLERANCE = {"fp32": 1e-4, "tf32": 1e-2, "bf16_mixed": 3e-2, "fp16_mixed": 1e-2, "bf16": 3e-2}
"""Relative difference of two gradients that rounding may cause; means of means gave 0.3 on a small model, sums of
means 3. A window where the input of a ReLU is within rounding of zero, so that its side depends on the cut, was seen to
differ by 1.5e-4 in fp32 (and by 1e-15 in float64); wrong arithmetic differs in every window."""


def cut_two_ways(parts: Parts) -> Iterator[Finding]:
    """What `accumulate` makes of four micro-batches against the gradient of the window's loss, written out.

    A window that agrees settles it; an error is what three different windows show.
    """
    parts.model.eval()  # dropout would differ between the two
    bound = CUT_TOLERANCE[parts.precision]
    differences: list[tuple[float, int]] = []
    for window in windows_to_cut(parts):
        differences.append(difference_of(parts, window))
        if differences[-1][0] <= bound:
            return
    (first, packs), *others = differences
    also = ", ".join(f"{difference:.2g}" for difference, _ in others)
    yield Finding(
        code="S201",
        name="gradient-depends-on-cut",
        severity="error",
        message=f"cut in {packs} packs a window's gradient differs by {first:.2g} of its norm (bound {bound:g})"
        + (f"; in other windows by {also}" if also else ""),
        why="The arithmetic of training must not depend on how much runs at once.",
        fix="set step.tokens_per_micro_batch to step.tokens_per_step, so that nothing is cut, and report it; if memory "
        "has no room for that, lower both",
    )


def difference_of(parts: Parts, window: Window) -> tuple[float, int]:
    """How far the gradient of the window in pieces is from that of the whole, as a share of its norm; and the number of
    packs that the pieces are."""
    shape = narrowed(parts.packing.shape, window)
    (pack,) = on_device(parts, window, shape)
    (parts.stepper.objective(pack).objective / window.num_targets).backward()
    whole = gathered(parts)
    pieces = [piece for piece in in_four(window) if len(piece.target)]
    packs = [pack for piece in pieces for pack in on_device(parts, piece, shape)]
    accumulate(parts.stepper.objective, packs)
    return float((whole - gathered(parts)).norm() / whole.norm()), len(packs)

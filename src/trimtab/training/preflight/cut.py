"""One window in one pack and in four: accumulated, the gradient must be that of the whole."""

from collections.abc import Iterator

from trimtab.build import Parts
from trimtab.finding import Finding
from trimtab.step.accumulate import accumulate
from trimtab.training.preflight.probe import (
    gathered,
    in_four,
    in_one_pack,
    narrowed,
    on_device,
    probe_window,
)

CUT_TOLERANCE = {"fp32": 1e-4, "tf32": 1e-2, "bf16_mixed": 3e-2, "fp16_mixed": 1e-2, "bf16": 3e-2}
"""Relative difference of two gradients that rounding may cause; means of means gave 0.3 on a small model, sums of
means 3."""


def cut_two_ways(parts: Parts) -> Iterator[Finding]:
    """What `accumulate` makes of four micro-batches against the gradient of the window's loss, written out."""
    parts.model.eval()  # dropout would differ between the two
    window = in_one_pack(probe_window(parts), parts)
    shape = narrowed(parts.shape, window)
    (pack,) = on_device(parts, window, shape)
    (parts.objective(pack).objective / window.num_targets).backward()
    whole = gathered(parts)
    pieces = [piece for piece in in_four(window) if len(piece.target)]
    packs = [pack for piece in pieces for pack in on_device(parts, piece, shape)]
    accumulate(parts.objective, packs)
    difference = float((whole - gathered(parts)).norm() / whole.norm())
    if not difference <= CUT_TOLERANCE[parts.precision]:
        yield Finding(
            code="S201",
            name="gradient-depends-on-cut",
            severity="error",
            message=f"cut in {len(packs)} packs a window's gradient differs by {difference:.2g} of its norm "
            f"(bound {CUT_TOLERANCE[parts.precision]:g})",
            why="The arithmetic of training must not depend on how much runs at once.",
            fix="report it; until then set step.tokens_per_micro_batch to step.tokens_per_step",
        )

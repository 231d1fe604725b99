"""The loss of the untrained model against the logarithm of the vocabulary."""

import math
from collections.abc import Iterator

import torch

from trimtab.build import Parts
from trimtab.finding import Finding
from trimtab.training.preflight.probe import on_device, probe_window

FIRST_LOSS_TOLERANCE = 0.15


def first_loss(parts: Parts) -> Iterator[Finding]:
    """The loss of the untrained model against the logarithm of the vocabulary."""
    parts.model.eval()
    window = probe_window(parts)
    with torch.no_grad():
        loss = (
            sum(float(parts.stepper.objective(pack).loss) for pack in on_device(parts, window))
            / window.num_targets
        )
    expected = math.log(parts.sources.tokenizer.num_ids)
    if parts.recipe.model.warm_start is not None and math.isfinite(loss):
        return  # its weights know something already
    if not abs(loss - expected) <= FIRST_LOSS_TOLERANCE * expected:
        yield Finding(
            code="L201",
            name="first-loss-off",
            severity="error" if not math.isfinite(loss) else "warning",
            message=f"the untrained model's loss is {loss:.3f}, ln(vocabulary) is {expected:.3f}",
            why="An untrained model knows nothing, so each token should cost the logarithm of the vocabulary.",
            fix="look for a changed initialisation, a wrong vocabulary size, or labels that are not shifted",
        )

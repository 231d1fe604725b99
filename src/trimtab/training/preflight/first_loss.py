"""The loss of the untrained model against that of a model that knows nothing."""

import math
from collections.abc import Iterator

import torch

from trimtab.finding import Finding
from trimtab.run_findings.preflight import FIRST_LOSS_OFF
from trimtab.tasks.examples import Checked

FIRST_LOSS_TOLERANCE = 0.15


def first_loss(parts: Checked) -> Iterator[Finding]:
    """The loss of the untrained model against that of a model that knows nothing."""
    parts.model.eval()
    batches = parts.examples.first()
    with torch.no_grad():
        loss = sum(float(parts.stepper.objective(batch).loss) for batch in batches)
    loss /= sum(batch.num_targets for batch in batches)
    expected, name = parts.task.untrained(parts.datasets)
    if parts.recipe.model.warm_start is not None and math.isfinite(loss):
        return  # its weights know something already
    if not abs(loss - expected) <= FIRST_LOSS_TOLERANCE * expected:
        yield FIRST_LOSS_OFF.found(
            f"the untrained model's loss is {loss:.3f}, {name} is {expected:.3f}",
            severity="error" if not math.isfinite(loss) else "warning",
        )

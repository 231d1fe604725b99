"""Checks before the first step that what is predicted of an image depends on it, its class and its time."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from trimtab.finding import Finding
from trimtab.step.precision import autocast
from trimtab.tasks.diagnoses import not_seen
from trimtab.tasks.diffusion.batches import DiffusionBatch
from trimtab.tasks.examples import Checked
from trimtab.tasks.images.checks import change_is_seen, every_other, with_other_pixels
from trimtab.tasks.program import hidden_in_training


def images_are_apart(parts: Checked) -> Iterator[Finding]:
    """With other pixels or classes of every other image, what is predicted of these changes and the rest does not; and
    another time alone changes what is predicted of the same numbers."""
    batch = parts.examples.few()
    for what, changed in changes(batch, no_class=parts.datasets.no_class):
        yield from change_is_seen(parts, batch, changed, what=what)
    typical = float(hidden_in_training(parts, batch).norm(dim=1).mean())
    with torch.no_grad(), autocast(parts.precision, parts.device):
        x, later = parts.model.noised(batch).x, 0.95 - 0.9 * batch.times
        change = parts.model.predict(x, later, batch.labels) - parts.model.predict(
            x, batch.times, batch.labels
        )
    yield from not_seen(
        "time, of the same image with noise", float(change.flatten(1).norm(dim=1).max()) / typical
    )


def changes(batch: DiffusionBatch, *, no_class: int) -> Iterator[tuple[str, DiffusionBatch]]:
    """The batch with something else in every other image; its classes where there are some."""
    yield "image", with_other_pixels(batch)
    if no_class:
        other = torch.where(batch.labels == no_class, 0, no_class)
        yield "class", replace(batch, labels=torch.where(every_other(batch), other, batch.labels))

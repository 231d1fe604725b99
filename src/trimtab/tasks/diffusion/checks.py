"""Checks before the first step: of the images, and that what is predicted of one depends on it and nothing else."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from trimtab.finding import Finding
from trimtab.run_findings.preflight import GREY_IMAGES_AS_RGB
from trimtab.step.precision import autocast
from trimtab.tasks.diffusion.batches import DiffusionBatch
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import hidden, hidden_in_training
from trimtab.tasks.text.causality import ALONE, UNSEEN, differs_alone, not_seen, others_seen
from trimtab.tasks.text.data_checks import dropped_examples

FIX = "data_ledger.json counts what is dropped and names the images; repair them, or take them out"


def data_checks(parts: Checked) -> Iterator[Finding]:
    """What is dropped of the first examples, and whether grey images are trained on as red, green and blue."""
    yield from dropped_examples(parts, fix=FIX)
    channels = parts.recipe.data.images.num_channels
    if channels == 1:
        return
    pixels = parts.datasets.sample_pixels.reshape(-1, channels)
    if (pixels == pixels[:, :1]).all():
        yield GREY_IMAGES_AS_RGB.found(
            f"the first {len(parts.datasets.sample.target):,} images have no color"
        )


def images_are_apart(parts: Checked) -> Iterator[Finding]:
    """With other pixels or classes of every other image, what is predicted of these changes and the rest does not; and
    another time alone changes what is predicted of the same numbers."""
    batch = parts.examples.few()
    before = hidden_in_training(parts, batch)
    typical = float(before.norm(dim=1).mean())
    for what, changed in changes(batch, no_class=parts.datasets.no_class):
        change = hidden_in_training(parts, changed) - before
        own, others = change[0::2].norm(dim=1), change[1::2].norm(dim=1)
        if len(others):
            yield from others_seen(float(others.max()) / typical, bound=UNSEEN[parts.precision])
        yield from not_seen(what, float(own.max()) / typical)
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
    every_other = torch.arange(len(batch.labels), device=batch.device) % 2 == 0
    pixels = torch.where(every_other[:, None, None, None], 255 - batch.pixels.flip(2), batch.pixels)
    yield "image", replace(batch, pixels=pixels)
    if no_class:
        other = torch.where(batch.labels == no_class, 0, no_class)
        yield "class", replace(batch, labels=torch.where(every_other, other, batch.labels))


def image_is_the_same_alone(parts: Checked) -> Iterator[Finding]:
    """The first image in a batch with others and alone, without dropout, which is drawn by place."""
    parts.model.eval()
    together, alone = parts.examples.few(), parts.examples.one_batch(0, 1)
    one, other = hidden(parts, together)[0], hidden(parts, alone)[0]
    share, bound = float((one - other).norm() / one.norm()), ALONE[parts.precision]
    yield from differs_alone(share, bound=bound, targets=1, others=together.num_segments - 1)

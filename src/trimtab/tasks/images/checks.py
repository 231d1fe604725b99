"""Checks before the first step that what comes out for an image depends on it and nothing else."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from trimtab.finding import Finding
from trimtab.run_findings.data import GREY_IMAGES_AS_RGB
from trimtab.tasks.diagnoses import ALONE, UNSEEN, differs_alone, dropped_examples, not_seen, others_seen
from trimtab.tasks.examples import Checked
from trimtab.tasks.images.square_batches import Own, SquareBatch
from trimtab.tasks.program import hidden, hidden_in_training

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
    """With other pixels of every other image, what comes out for these changes and the rest does not."""
    batch = parts.examples.few()
    yield from change_is_seen(parts, batch, with_other_pixels(batch), what="image")


def change_is_seen(
    parts: Checked, batch: SquareBatch, changed: SquareBatch, *, what: str
) -> Iterator[Finding]:
    """Whether a change of every other image of a batch shows in what comes out for it, and nowhere else."""
    before = hidden_in_training(parts, batch)
    typical = float(before.norm(dim=1).mean())
    change = hidden_in_training(parts, changed) - before
    own, others = change[0::2].norm(dim=1), change[1::2].norm(dim=1)
    if len(others):
        yield from others_seen(float(others.max()) / typical, bound=UNSEEN[parts.precision])
    yield from not_seen(what, float(own.max()) / typical)


def every_other(batch: SquareBatch) -> torch.Tensor:
    """Which images of a batch are changed."""
    return torch.arange(len(batch.labels), device=batch.device) % 2 == 0


def with_other_pixels(batch: Own) -> Own:
    """The batch with every other image inverted and upside down."""
    where = every_other(batch)[:, None, None, None]
    return replace(batch, pixels=torch.where(where, 255 - batch.pixels.flip(2), batch.pixels))


def image_is_the_same_alone(parts: Checked) -> Iterator[Finding]:
    """The first image in a batch with others and alone, without dropout, which is drawn by place."""
    parts.model.eval()
    together, alone = parts.examples.few(), parts.examples.one_batch(0, 1)
    one, other = hidden(parts, together)[0], hidden(parts, alone)[0]
    share, bound = float((one - other).norm() / one.norm()), ALONE[parts.precision]
    yield from differs_alone(share, bound=bound, targets=1, others=together.num_segments - 1)

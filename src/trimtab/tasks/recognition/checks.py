"""Checks before the first step: of the data, and that what is read in an image depends on it and nothing else."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from trimtab.finding import Finding
from trimtab.run_findings.data import UNKNOWN_PIECES
from trimtab.tasks.diagnoses import ALONE, UNSEEN, differs_alone, dropped_examples, not_seen, others_seen
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import hidden, hidden_in_training
from trimtab.tasks.recognition.batches import ImageBatch
from trimtab.tasks.recognition.charset import described

NAMED = 5
"""Characters that a finding names."""
FIX = "data_ledger.json counts what is dropped and names the lines; see data.max_tokens, data.images and model.patch"


def data_checks(parts: Checked) -> Iterator[Finding]:
    """What is dropped of the first examples, and which characters of a validation set cannot be written."""
    yield from dropped_examples(parts, fix=FIX)
    for valid in parts.datasets.valid.values():
        if not valid.unknown:
            continue
        count, characters = sum(valid.unknown.values()), sum(map(len, valid.texts))
        most = sorted(valid.unknown, key=lambda each: -valid.unknown[each])[:NAMED]
        yield UNKNOWN_PIECES.found(
            f"{count:,} of the {characters:,} characters of the validation set {valid.name} are not among those of the "
            f"training texts, so that its CER stays above {count / characters:.2%}: "
            f"{', '.join(described(each) for each in most)}" + (" ..." if len(valid.unknown) > NAMED else ""),
            severity="warning",
            fix="add training images with these characters, or correct the texts",
        )


def images_are_apart(parts: Checked) -> Iterator[Finding]:
    """With other pixels in every other image, these are read otherwise and the rest of the batch is not; and nothing
    depends on the pixels between the images."""
    batch = parts.examples.few()
    owners = image_indices(parts, batch)
    before = hidden_in_training(parts, batch)
    every_other = cells_of(batch, parity=0)
    change = hidden_in_training(parts, with_pixels(batch, every_other)) - before
    gaps = hidden_in_training(parts, with_pixels(batch, ~batch.patches.real)) - before
    real = owners >= 0
    typical = float(before[real].norm(dim=1).mean())
    others = change[real & (owners % 2 == 1)]
    leak = float(others.norm(dim=1).max()) / typical if len(others) else 0.0
    yield from others_seen(leak, bound=UNSEEN[parts.precision])
    yield from others_seen(float(gaps[real].norm(dim=1).max()) / typical, bound=UNSEEN[parts.precision])
    yield from not_seen("image", float(change[real & (owners % 2 == 0)].norm(dim=1).max()) / typical)


def image_is_the_same_alone(parts: Checked) -> Iterator[Finding]:
    """The first image in a batch with others and alone, without dropout, which is drawn by place."""
    parts.model.eval()
    together, alone = parts.examples.few(), parts.examples.one_batch(0, 1)
    one = hidden(parts, together)[image_indices(parts, together) == 0]
    other = hidden(parts, alone)[image_indices(parts, alone) == 0]
    share, bound = float((one - other).norm() / one.norm()), ALONE[parts.precision]
    yield from differs_alone(share, bound=bound, targets=len(one), others=together.num_segments - 1)


def image_indices(parts: Checked, batch: ImageBatch) -> Tensor:
    """The image of each vector that the model gives; -1 for those that fill the batch up."""
    if not parts.model.config.has_decoder:
        widths = torch.tensor(batch.widths, device=batch.device)
        return torch.arange(len(widths), device=batch.device).repeat_interleave(widths)
    owners = batch.text.segments.clone()
    owners[batch.num_targets :] = -1
    return owners


def cells_of(batch: ImageBatch, *, parity: int) -> Tensor:
    """Which patches of the strip belong to images with an even number, or an odd one."""
    stream, used = batch.patches.stream, batch.num_tokens
    chosen = stream.ids[:used][stream.segments[:used] % 2 == parity]
    cells = torch.zeros(batch.patches.real.numel(), dtype=torch.bool, device=batch.device)
    cells[chosen] = True
    return cells.view_as(batch.patches.real)


def with_pixels(batch: ImageBatch, cells: Tensor) -> ImageBatch:
    """The same batch with the pixels of some patches inverted and mirrored."""
    pixels, real = batch.patches.pixels, cells
    height, width = pixels.shape[1] // real.shape[0], pixels.shape[2] // real.shape[1]
    mask = real.repeat_interleave(height, 0).repeat_interleave(width, 1)
    other = torch.where(mask, 255 - pixels.flip(1), pixels)
    return replace(batch, patches=replace(batch.patches, pixels=other))

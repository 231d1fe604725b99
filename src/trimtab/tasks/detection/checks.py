"""Checks before the first step that are those of boxes in images."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.finding import Finding
from trimtab.run_findings.data import UNUSABLE_BOXES
from trimtab.tasks.detection.annotations import CUT_OFF, LEFT_OUT, Faults
from trimtab.tasks.detection.batches import BoxBatch
from trimtab.tasks.detection.examples import blanked
from trimtab.tasks.diagnoses import ALONE, UNSEEN, differs_alone, dropped_examples, not_seen, others_seen
from trimtab.tasks.examples import Checked
from trimtab.tasks.program import hidden

FIX = "data_ledger.json counts what is dropped and names the images; see data.canvas and model.queries"
MANY = 0.2
"""A share of boxes that are not used from which on it is an error: the list is in another unit."""


def data_checks(parts: Checked) -> Iterator[Finding]:
    """What is dropped of the first images, and which boxes of the lists are not used or cut off."""
    yield from dropped_examples(parts, fix=FIX)
    datasets = parts.datasets
    opened = {f"data.train.{number}": corpus for number, corpus in enumerate(datasets.corpora)}
    opened |= {f"data.valid.{name}": valid.corpus for name, valid in datasets.valid.items()}
    for key, corpus in opened.items():
        faults: Faults = corpus.annotations.faults
        said = [faults.said(reason) for reason in (*LEFT_OUT, CUT_OFF) if reason in faults.counts]
        if not said:
            continue
        total = len(corpus.annotations.boxes) + faults.left_out
        yield UNUSABLE_BOXES.found(
            f"{key}: {faults.left_out:,} of {total:,} boxes are not used. {' | '.join(said)}",
            severity="error" if faults.left_out > MANY * total else "warning",
        )


def images_are_apart(parts: Checked) -> Iterator[Finding]:
    """With other pixels in every other image, these are seen otherwise and the rest of the batch is not. In evaluation
    mode: live batch norm makes images of a batch depend on one another while training, as it should."""
    parts.model.eval()
    batch = parts.examples.few()
    before, after = (by_image(hidden(parts, each), batch) for each in (batch, blanked(batch)))
    change, typical = (after - before).norm(dim=1), float(before.norm(dim=1).mean())
    others = change[1::2]
    yield from others_seen(
        float(others.max()) / typical if len(others) else 0.0, bound=UNSEEN[parts.precision]
    )
    yield from not_seen("image", float(change[::2].max()) / typical)


def image_is_the_same_alone(parts: Checked) -> Iterator[Finding]:
    """The first image in a batch with others and alone."""
    parts.model.eval()
    together, alone = parts.examples.few(), parts.examples.one_batch(0, 1)
    one, other = (predictions_of_first(hidden(parts, each), each) for each in (together, alone))
    share, bound = unlike(one, other), ALONE[parts.precision]
    yield from differs_alone(share, bound=bound, targets=len(one), others=together.num_segments - 1)


def unlike(one: Float[Tensor, "predictions numbers"], other: Float[Tensor, "predictions numbers"]) -> float:
    """How far the predictions of an image lie from the nearest ones of the same image elsewhere, as a share of their
    size; of nine tenths of them. Queries are the best proposals in the order of their scores: rounding exchanges equal
    ones, and those at the end of the selection with others."""
    nearest = torch.cdist(one.double(), other.double()).amin(dim=1)
    return float(nearest.quantile(0.9) / one.double().norm(dim=1).mean())


def predictions_of_first(
    found: Float[Tensor, "all numbers"], batch: BoxBatch
) -> Float[Tensor, "predictions numbers"]:
    """The predictions for the first image."""
    return found.view(batch.num_segments, -1, found.shape[-1])[0]


def by_image(
    found: Float[Tensor, "predictions numbers"], batch: BoxBatch
) -> Float[Tensor, "images numbers_of_all"]:
    """The predictions for each image in one row."""
    return found.view(batch.num_segments, -1)

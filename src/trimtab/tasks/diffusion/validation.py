"""The numbers of a validation: the loss at fixed noise, by how much noise there is, and a grid of samples."""

import math
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trimtab.data.order import stream_keys
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.valid_set import spread
from trimtab.evaluation.score_rows import score_rows, total
from trimtab.step.precision import autocast
from trimtab.tasks.diagnoses import loss_not_finite
from trimtab.tasks.diffusion.batches import BANDS, DiffusionBatch
from trimtab.tasks.diffusion.losses import squared_errors
from trimtab.tasks.diffusion.model import ImageDiffuser
from trimtab.tasks.diffusion.pictures import grid_of, png_of
from trimtab.tasks.diffusion.sampling import SampleRequest, sampled
from trimtab.tasks.images.squares import SquareSet
from trimtab.tasks.task import ExampleLosses, Moment, Validated

MOST_CLASSES = 10
"""Rows of the grid of samples."""


def loss_of(parts: Any, model: ImageDiffuser, valid: SquareSet) -> float:
    """The mean squared error over the set, without weights: each image at one time, a quarter of them in each quarter
    of the time, always with the same noise, so that evaluations can be compared."""
    found = in_bands(parts, model, valid, np.arange(valid.rows), np.arange(valid.rows) % BANDS)
    return total(found) / valid.rows if valid.rows else math.nan


def in_bands(
    parts: Any, model: ImageDiffuser, valid: SquareSet, chosen: np.ndarray, bands: np.ndarray
) -> list[float]:
    """The squared error of each of these images in its band of time."""
    return score_rows(
        parts.batching.in_bands(valid.rows_of_bytes.take(chosen), valid.classes[chosen], bands),
        lambda batch: squared_errors(model, batch),
        device=parts.device,
        precision=parts.precision,
        ranks=parts.stepper.ranks,
    )


def validated(parts: Any, model: ImageDiffuser, valid: SquareSet, moment: Moment) -> Validated:
    """The loss by quarters of the time, of images that are spread over the set; of the first set a grid of samples."""
    recipe = parts.recipe
    if valid.rows and not math.isfinite(moment.loss):
        ill = loss_not_finite(valid.name, moment.loss, consequence=": nothing was sampled")
        return Validated({}, findings=[ill])
    chosen = np.array(spread(valid.rows, recipe.evaluate.lines), np.int64)
    scores: dict[str, Any] = {}
    for band in range(BANDS):
        found = in_bands(parts, model, valid, chosen, np.full(len(chosen), band))
        scores[name_of_band(band)] = round(total(found) / max(1, len(found)), 6)
    drawn = moment.first and recipe.evaluate.samples > 0
    picture = png_of(samples_of(parts, model)) if drawn else b""
    scores |= {"lines": len(chosen), "seconds": round(time.perf_counter() - moment.started, 3)}
    return Validated(scores, picture=picture)


def name_of_band(band: int) -> str:
    """The name of the loss in a quarter of the time, such as `loss_0_25`: from no noise to a quarter."""
    return f"loss_{100 * band // BANDS}_{100 * (band + 1) // BANDS}"


def samples_of(parts: Any, model: ImageDiffuser) -> np.ndarray:
    """A grid of `evaluate.samples` images of each class, of the first classes where there are many: a row a class,
    always of the same noise."""
    count, names = parts.recipe.evaluate.samples, parts.datasets.labels.names
    classes = [*range(len(names))][:MOST_CLASSES] or [model.no_class]
    labels = np.repeat(np.array(classes, np.int64), count)
    # The same noise in each row: what differs between rows is the class.
    keys = stream_keys(parts.recipe.seed, np.tile(np.arange(count), len(classes)))
    with autocast(parts.precision, parts.device):
        images = sampled(model, SampleRequest(labels, keys), parts.recipe.model.sampling, device=parts.device)
    return grid_of(images, columns=count)


@torch.no_grad()
def example_losses(parts: Any, window: TextGlobalBatch) -> ExampleLosses:
    """The loss of each example of a step by the model as it is, at the times and with the noise of that step."""

    def score(batch: DiffusionBatch) -> Tensor:
        return squared_errors(parts.model, batch)[: batch.num_targets]

    batches = (batch.to(parts.device) for batch in parts.batching.cut(window))
    losses = score_rows(batches, score, device=parts.device, precision=parts.precision)
    return ExampleLosses(np.array(losses), np.ones(len(losses), np.int64))

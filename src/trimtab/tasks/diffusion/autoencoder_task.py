"""The autoencoder as a kind of model of diffusion: it reads the same images and learns to reconstruct them."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.config.run import Recipe
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.valid_set import spread
from trimtab.evaluation.score_rows import score_rows, total
from trimtab.progress import Progress
from trimtab.step.precision import autocast
from trimtab.tasks.diagnoses import loss_not_finite
from trimtab.tasks.diffusion.autoencoder import (
    ImageAutoencoder,
    autoencoder_of,
    load_autoencoder,
    psnr,
    reconstructed,
)
from trimtab.tasks.diffusion.autoencoder_export import export_autoencoder
from trimtab.tasks.diffusion.pictures import grid_of, png_of
from trimtab.tasks.images.checks import data_checks, image_is_the_same_alone, images_are_apart
from trimtab.tasks.images.square_batches import SquareBatch, open_mixtures, plan_batches
from trimtab.tasks.images.square_examples import SquareExamples
from trimtab.tasks.images.squares import Squares, SquareSet, open_squares, unpacked
from trimtab.tasks.labels import load_labels
from trimtab.tasks.task import ExampleLosses, Moment, OwnChecks, Task, Validated, Validation
from trimtab.types import LossOutput


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> Squares:
    """Opens what a recipe with absolute paths names; see `tasks.task.Task.open_datasets`."""
    progress.message("reading the lists of images")
    opened = open_squares(recipe, tokenizer_folder=tokenizer_folder)
    return Squares(**opened._asdict(), patches=1)


def build_autoencoder(recipe: Recipe, datasets: Squares, *, device: torch.device) -> ImageAutoencoder:
    """The model with its first weights."""
    return autoencoder_of(recipe).to(device)


class ReconstructionLoss:
    """The squared error of reconstructions, averaged over the values of an image and summed over images; see
    `tasks.task.ComputesLoss`."""

    def __init__(self) -> None:
        self.truncating = False
        """Ignored: nothing is left out."""

    def __call__(self, model: ImageAutoencoder, batch: SquareBatch) -> LossOutput:
        """Summed over the images of a batch that count."""
        summed = (squared_errors(model, batch) * batch.counts).sum()
        return LossOutput(summed, summed.detach())


def build_reconstruction_loss(recipe: Recipe, datasets: Any, *, device: torch.device) -> ReconstructionLoss:
    """The loss of a recipe."""
    return ReconstructionLoss()


def squared_errors(model: ImageAutoencoder, batch: SquareBatch) -> Float[Tensor, "images"]:
    """The mean squared error of each image, float32 or wider."""
    given = model.given(batch.pixels).flatten(1)
    return (model(batch).to(given.dtype) - given).square().mean(1)


def loss_of(parts: Any, model: ImageAutoencoder, valid: SquareSet) -> float:
    """The mean squared error over the set."""
    return total(errors_of(parts, model, valid)) / valid.rows if valid.rows else math.nan


def errors_of(parts: Any, model: ImageAutoencoder, valid: SquareSet) -> list[float]:
    """The mean squared error of each image of a set."""
    return score_rows(
        parts.batching.whole_set(valid.rows_of_bytes, valid.classes),
        lambda batch: squared_errors(model, batch),
        device=parts.device,
        precision=parts.precision,
        ranks=parts.stepper.ranks,
    )


def validated(parts: Any, model: ImageAutoencoder, valid: SquareSet, moment: Moment) -> Validated:
    """The peak signal-to-noise ratio of the set; of the first one, images above what came back."""
    if valid.rows and not math.isfinite(moment.loss):
        ill = loss_not_finite(valid.name, moment.loss, consequence=": no image was encoded")
        return Validated({}, findings=[ill])
    scores: dict[str, Any] = {"psnr": round(psnr(moment.loss), 3)} if valid.rows else {}
    scores |= {"lines": valid.rows, "seconds": round(time.perf_counter() - moment.started, 3)}
    count = parts.recipe.evaluate.samples if moment.first else 0
    chosen = np.array(spread(valid.rows, count), np.int64)
    picture = b""
    if len(chosen):
        with autocast(parts.precision, parts.device):
            picture = png_of(above(model, images_in(parts, valid, chosen)))
    return Validated(scores, picture=picture)


def images_in(parts: Any, valid: SquareSet, chosen: np.ndarray) -> np.ndarray:
    """Some images of a set, `images side side channels`, uint8."""
    batching = parts.batching
    rows = valid.rows_of_bytes.take(chosen)
    _, pixels = unpacked(rows, side=batching.side, channels=batching.channels)
    return pixels.transpose(0, 2, 3, 1)


def above(model: ImageAutoencoder, images: np.ndarray) -> np.ndarray:
    """A grid of images in one row, and below them what came back."""
    return grid_of(np.concatenate([images, reconstructed(model, images)]), columns=len(images))


@torch.no_grad()
def example_losses(parts: Any, window: TextGlobalBatch) -> ExampleLosses:
    """The loss of each example of a step by the model as it is."""

    def score(batch: SquareBatch) -> Tensor:
        return squared_errors(parts.model, batch)[: batch.num_targets]

    batches = (batch.to(parts.device) for batch in parts.batching.cut(window))
    losses = score_rows(batches, score, device=parts.device, precision=parts.precision)
    return ExampleLosses(np.array(losses), np.ones(len(losses), np.int64))


AUTOENCODER = Task(
    name="diffusion",
    open_datasets=open_datasets,
    plan_batches=plan_batches,
    open_mixture=open_mixtures,
    build_model=build_autoencoder,
    build_loss=build_reconstruction_loss,
    validation=Validation(loss_of=loss_of, scored=validated),
    example_losses=example_losses,
    load_predictor=load_autoencoder,
    examples=SquareExamples,
    checks=OwnChecks(data=data_checks, batches=(images_are_apart, image_is_the_same_alone)),
    export=export_autoencoder,
    check_prepared=load_labels,
)

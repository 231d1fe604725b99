"""What a recipe makes of the opened data: batches, the stream of steps, the model, the loss."""

import math
from functools import partial
from typing import Any

import torch

from trimtab.config.run import Recipe
from trimtab.config.trocr_model import TrOCRModel
from trimtab.config.vision_model import VisionModel
from trimtab.loss.build import build_loss
from trimtab.loss.ctc import untrained_loss
from trimtab.tasks.recognition.batches import Batching, ImageGlobalBatch, plan_shape
from trimtab.tasks.recognition.charset import AnyCharset
from trimtab.tasks.recognition.datasets import ImageDatasets
from trimtab.tasks.recognition.losses import ReadingLoss
from trimtab.tasks.recognition.model import LineReader
from trimtab.tasks.recognition.trocr import AnyReader, PretrainedReader
from trimtab.tasks.stream import mixture_opener, rounded_up, step_size
from trimtab.tasks.task import OpenMixture, Untrained


def plan_batches(
    recipe: Recipe, datasets: ImageDatasets, *, packed: bool, device: torch.device, ranks: int = 1
) -> Batching:
    """The batches of the run; `packed` gives them one shape, for kernels that are compiled once."""
    return Batching(
        shape=plan_shape(
            recipe.step,
            model_of(recipe),
            (datasets.sizes, datasets.sample.target.lengths),
            largest=largest(recipe),
            max_tokens=recipe.data.max_tokens,
            packed=packed,
            ranks=ranks,
        ),
        start=datasets.charset.start,
        tokens_at=partial(step_size, recipe.step),
        device=device,
    )


def model_of(recipe: Recipe) -> VisionModel | TrOCRModel:
    """The settings of the model."""
    assert isinstance(recipe.model, VisionModel | TrOCRModel), "other kinds are refused with the recipe"
    return recipe.model


def largest(recipe: Recipe) -> tuple[int, int]:
    """Height and width in pixels of the largest image that can come, padded."""
    images, multiple = recipe.data.images, model_of(recipe).multiple
    assert images is not None, "the task has defaults for it"
    return rounded_up(images.max_height, multiple[0]), rounded_up(images.widest, multiple[1])


def open_mixtures(recipe: Recipe, datasets: ImageDatasets) -> OpenMixture:
    """See `Task.open_mixture`."""
    return mixture_opener(recipe, datasets.feed, batch=ImageGlobalBatch, max_targets=recipe.data.max_tokens)


def build_reader(recipe: Recipe, datasets: ImageDatasets, *, device: torch.device) -> AnyReader:
    """The model with its first weights, sized by the characters and the images."""
    return reader_model(recipe, datasets.charset).to(device)


def reader_model(recipe: Recipe, charset: AnyCharset) -> AnyReader:
    """The model that a recipe describes, on the CPU, with its first weights, which follow from the recipe's seed."""
    config, images = model_of(recipe), recipe.data.images
    assert images is not None, "the task has defaults for it"
    if isinstance(config, TrOCRModel):
        longest = recipe.data.max_tokens
        return PretrainedReader(config, max_positions=longest, pad=charset.pad, seed=recipe.seed)
    height, width = largest(recipe)
    return LineReader(
        config,
        num_ids=charset.num_ids,
        channels=images.num_channels,
        grid=(height // config.patch[0], width // config.patch[1]),
        max_positions=recipe.max_positions,
        seed=recipe.seed,
    )


def build_reading_loss(recipe: Recipe, datasets: Any, *, device: torch.device) -> ReadingLoss:
    """The loss of a recipe on the device."""
    return ReadingLoss(build_loss(recipe.loss, num_ids=datasets.charset.num_ids, device=device))


def untrained(datasets: ImageDatasets) -> Untrained:
    """What a model that knows nothing loses: of a decoder the logarithm of the number of characters or pieces; of CTC
    what all spellings of the texts of the sample cost together, where every id is as likely as any other."""
    num_ids = datasets.charset.num_ids
    if datasets.reader.head != "ctc":
        return Untrained(math.log(num_ids), "ln(characters)")
    columns = datasets.sizes[:, 1] // datasets.reader.patch[1]
    lengths = datasets.sample.target.lengths - 1
    nats = sum(
        untrained_loss(columns=wide, length=length, num_ids=num_ids)
        for wide, length in zip(columns.tolist(), lengths.tolist(), strict=True)
    )
    return Untrained(nats / max(1, datasets.sample.targets), "that of CTC with equal probabilities")

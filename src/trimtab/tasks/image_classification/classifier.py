"""A trained classifier of images, ready to be used."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from trimtab.checkpoint.load import Checkpoint
from trimtab.config.image_classifier_model import ImageClassifierModel
from trimtab.config.run import Recipe
from trimtab.device import choose_device
from trimtab.inference.ready import prepare_for_inference
from trimtab.tasks.image_classification.model import ImageClassifier
from trimtab.tasks.image_classification.validation import log_probabilities
from trimtab.tasks.images.given import Given, each_given, name_of, opened
from trimtab.tasks.images.labelled import squared
from trimtab.tasks.images.pixels import BadImage
from trimtab.tasks.images.square_batches import SquareBatch, assembled
from trimtab.tasks.images.squares import images_of
from trimtab.tasks.labels import Labels, load_labels
from trimtab.tasks.trained_run import trained_run

IMAGES_AT_ONCE = 256
"""Images that are loaded ahead and classified together."""


@dataclass(frozen=True, slots=True)
class ClassifiedImage:
    """The prediction for one image."""

    image: str
    """Its path; empty for one that has none."""
    label: str
    """The likeliest class; empty where the image could not be read."""
    probabilities: dict[str, float]
    """Of each class; they sum to 1."""
    error: str = ""
    """Why it could not be read."""

    @property
    def probability(self) -> float:
        """Of the likeliest class."""
        return self.probabilities.get(self.label, 0.0)


@dataclass(frozen=True, slots=True)
class TrainedImageClassifier:
    """A checkpoint's model on its device, with the classes that belong to it."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: ImageClassifier
    labels: Labels

    def __repr__(self) -> str:
        return f"TrainedImageClassifier({str(self.checkpoint.folder)!r}, {len(self.labels)} classes)"

    def classify(self, images: Iterable[Given]) -> Iterator[ClassifiedImage]:
        """The class of each image with the probabilities of all classes, in order and in bounded memory.

        An image is a path, the bytes of a file, a Pillow image, or an array `height width` or `height width 3` of 8
        bits. One that cannot be read has an `error` in place of a class. Raises InputError for one path in place of a
        list.
        """
        return self._in_blocks(each_given(images))

    def _in_blocks(self, images: Iterator[Given]) -> Iterator[ClassifiedImage]:
        config = images_of(self.recipe)
        while block := list(islice(images, IMAGES_AT_ONCE)):
            pixels, errors = list[np.ndarray](), dict[int, str]()
            for number, given in enumerate(block):
                try:
                    pixels.append(squared(opened(given, config), config))
                except BadImage as bad:
                    errors[number] = str(bad)
            rows = iter(self.probabilities(np.stack(pixels)) if pixels else ())
            for number, given in enumerate(block):
                if number in errors:
                    yield ClassifiedImage(name_of(given), "", {}, error=errors[number])
                    continue
                row = next(rows)
                best = self.labels.names[int(row.argmax())]
                yield ClassifiedImage(
                    name_of(given), best, dict(zip(self.labels.names, row.tolist(), strict=True))
                )

    @torch.inference_mode()
    def probabilities(self, pixels: np.ndarray) -> np.ndarray:
        """The probability of each class for `images side side channels`, uint8; `images classes`, float64."""
        nothing = np.zeros(len(pixels), np.int64)
        batch = SquareBatch(**assembled(pixels.transpose(0, 3, 1, 2), nothing, nothing.astype(np.uint64)))
        device = self.model.output_matrix.device
        return log_probabilities(self.model, batch.to(device)).double().exp().cpu().numpy()


def classifier_of(recipe: Recipe, *, num_classes: int) -> ImageClassifier:
    """The model that a recipe describes, on the CPU, with its first weights, which follow from the recipe's seed."""
    assert isinstance(recipe.model, ImageClassifierModel), "other kinds are refused with the recipe"
    images = images_of(recipe)
    return ImageClassifier(
        recipe.model,
        num_classes=num_classes,
        channels=images.num_channels,
        side=images.size,
        seed=recipe.seed,
    )


def load_image_classifier(spec: Path | str, *, device: str | None = None) -> TrainedImageClassifier:
    """The classifier of `RUN`, `RUN@last` or `RUN@500`; on a GPU in half precision.

    Raises InputError if there is no such run or checkpoint, it is no classifier of images, the checkpoint is damaged,
    or recipe or classes are not those that it was trained with.
    """
    run = trained_run(spec, task="image_classification", kind="image classifier")
    labels = load_labels(run.folder.tokenizer)
    run.check_trained_with(labels.fingerprint, name="labels", what="classes", got=labels.shown())
    model = classifier_of(run.recipe, num_classes=len(labels))
    run.load_weights(model)
    ready = prepare_for_inference(choose_device(device), model, kernel="varlen")
    return TrainedImageClassifier(run.recipe, run.checkpoint, ready, labels)

"""The data of a run, opened: images with their classes, and the validation sets."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from trimtab.config.diffusion_model import DiffusionModel
from trimtab.config.images import ImageConfig
from trimtab.config.run import Recipe
from trimtab.data.order import random_stream, stream_keys
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.stream_sample import Sample, first_examples
from trimtab.progress import Progress
from trimtab.tasks.diffusion.batches import KEY, packed_row
from trimtab.tasks.diffusion.process import Process
from trimtab.tasks.diffusion.sources import labels_in, open_pictures, squared
from trimtab.tasks.images.feed import ImageFeed, ImagePlace, joined
from trimtab.tasks.images.pixels import BadImage, unreadable
from trimtab.tasks.images.sources import ImageCorpus
from trimtab.tasks.labels import LABELS_FILE, Labels, load_labels, numbered, save_labels
from trimtab.tasks.recipe_files import (
    each_or_problems,
    fingerprints_of,
    of_training,
    of_validation,
    open_each,
)
from trimtab.types import Ragged

MOST_KEPT = 1 << 28
"""Bytes of images that each process keeps, so that it need not decompress them again in every epoch."""
_VALID = -1
"""In place of an epoch, in the keys of validation images: they have the same noise in every evaluation."""


@dataclass(slots=True)
class ImageCache:
    """Images that a process has brought to their size."""

    pixels: dict[tuple[int, int], np.ndarray] = field(default_factory=dict[tuple[int, int], np.ndarray])
    size: int = 0

    def add(self, place: tuple[int, int], pixels: np.ndarray) -> np.ndarray:
        """Keeps an image while there is room, and gives it back."""
        if self.size + pixels.nbytes <= MOST_KEPT:
            self.pixels[place] = pixels
            self.size += pixels.nbytes
        return pixels

    def __reduce__(self) -> "tuple[type[ImageCache], tuple[()]]":
        """Another process begins without any."""
        return ImageCache, ()


@dataclass(frozen=True, slots=True)
class PictureFeed(ImageFeed):
    """Images after the keys of their noise, and the numbers of their classes."""

    corpora: Sequence[ImageCorpus]
    classes: Sequence[np.ndarray]
    """The number of each image's class, int32, for each corpus."""
    images: ImageConfig
    kept: ImageCache = field(default_factory=ImageCache, compare=False)

    positions_per_chunk: ClassVar[int] = 256
    max_tokens: ClassVar[int] = 1

    def example(self, place: ImagePlace) -> tuple[np.ndarray, Sequence[int]]:
        """The key and the pixels of an image, and the number of its class."""
        (key,) = stream_keys(self.mixture.seed, place.turn, place.corpus, place.line).tolist()
        row = packed_row(key, self.pixels(place.corpus, place.line))
        return row, [int(self.classes[place.corpus][place.line])]

    def pixels(self, corpus: int, line: int) -> np.ndarray:
        """An image at its size, `size size channels`, uint8. Raises BadImage."""
        found = self.kept.pixels.get((corpus, line))
        if found is not None:
            return found
        return self.kept.add((corpus, line), read_picture(self.corpora[corpus], line, self.images))


def read_picture(corpus: ImageCorpus, line: int, config: ImageConfig) -> np.ndarray:
    """An image at its size, `size size channels`, uint8. Raises BadImage."""
    image, _ = corpus.image(line, config, random_stream(0))
    return squared(image, config)


@dataclass(frozen=True, slots=True)
class ImageSet:
    """A validation set, whole."""

    name: str
    rows_of_bytes: Ragged
    """Key and pixels of each image."""
    classes: np.ndarray
    """Numbers, int32."""

    @property
    def rows(self) -> int:
        """Examples that the loss is measured on."""
        return len(self.rows_of_bytes)

    @property
    def fingerprint(self) -> str:
        """What its scores depend on: how many images, and a sha256 of their pixels, classes and noise."""
        mark = hashlib.sha256(self.rows_of_bytes.values.tobytes() + self.classes.tobytes())
        return f"{self.rows:,} images, sha256 {mark.hexdigest()[:32]}"


@dataclass(frozen=True)
class ImageDatasets:
    """Everything that is read, ready to be read; see `tasks.task.Datasets`."""

    corpora: list[ImageCorpus]
    labels: Labels
    feed: PictureFeed
    stages: Stages
    valid: dict[str, ImageSet]
    sample: Sample
    process: Process
    patches: int
    """Of an image."""

    @property
    def no_class(self) -> int:
        """The number that stands for no class."""
        return len(self.labels)

    @cached_property
    def sample_pixels(self) -> np.ndarray:
        """The images of the sample, `images numbers`, uint8."""
        return self.sample.source.values.reshape(len(self.sample.source), -1)[:, KEY:]

    @cached_property
    def second_moment(self) -> float:
        """The mean square of the numbers of the images of the sample, which are from -1 to 1."""
        return float(np.square(self.sample_pixels / 127.5 - 1).mean())

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes, by name."""
        data = fingerprints_of(self.corpora, self.valid, what="images")
        return {**data, "labels": self.labels.fingerprint}

    @property
    def positions_per_epoch(self) -> int:
        """How far an epoch moves the stream's position."""
        return self.feed.mixture.examples_per_epoch

    @property
    def targets_per_epoch(self) -> float:
        """Images of an epoch, estimated from the sample."""
        return self.positions_per_epoch * len(self.sample.target) / max(1, self.sample.seen)

    @property
    def tokens_per_target(self) -> float:
        """Patches of an image."""
        return float(self.patches)

    @property
    def epoch_size(self) -> str:
        """An epoch in words."""
        classes = f"of {len(self.labels)} classes" if len(self.labels) else "without classes"
        return f"{self.positions_per_epoch} images {classes}"


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> ImageDatasets:
    """Opens what a recipe with absolute paths names; see `tasks.task.Task.open_datasets`."""
    progress.message("reading the lists of images")
    model, images = settings_of(recipe)
    opened = open_each(recipe, lambda files, key: open_pictures(files, key=key, seed=recipe.seed))
    corpora = of_training(opened)
    labels = prepare_labels(corpora, folder=tokenizer_folder)
    classes = each_or_problems(opened, lambda key: classes_in(opened[key], labels, key=key))
    stages = plan_stages(recipe.data, corpora, seed=recipe.data_seed)
    feed = PictureFeed(stages.mixtures[0], corpora, of_training(classes), images)
    sets = {
        name: read_set(name, corpus, classes[key], images, key=key)
        for name, (key, corpus) in of_validation(recipe, opened).items()
    }
    return ImageDatasets(
        corpora,
        labels,
        feed,
        stages,
        sets,
        first_examples(feed, stages),
        Process.of(model),
        (images.size // model.patch) ** 2,
    )


def settings_of(recipe: Recipe) -> tuple[DiffusionModel, ImageConfig]:
    """Those of the model and of the images."""
    assert isinstance(recipe.model, DiffusionModel), "other kinds are refused with the recipe"
    assert recipe.data.images is not None, "the task has defaults for it"
    return recipe.model, recipe.data.images


def prepare_labels(corpora: Sequence[ImageCorpus], *, folder: Path) -> Labels:
    """The classes in a run's folder, or those of the corpora, which are then written there; there may be none."""
    if (folder / LABELS_FILE).exists():
        return load_labels(folder)
    labels = Labels(tuple(sorted({label for corpus in corpora for label in labels_in(corpus)} - {""})))
    save_labels(labels, folder)
    return labels


def classes_in(corpus: ImageCorpus, labels: Labels, *, key: str) -> np.ndarray:
    """The number of the class of each image, int32; InputError for classes that the training data does not have."""
    found = numbered(
        labels_in(corpus),
        {**labels.numbers, "": len(labels)},
        key=key,
        place=corpus.place,
        what="a class that the training data does not have",
        allowed=labels.shown() or "no class",
        fix="correct it, or add images of this class to data.train and start a new run",
    )
    return np.array(found, np.int32)


def read_set(
    name: str, corpus: ImageCorpus, classes: np.ndarray, images: ImageConfig, *, key: str
) -> ImageSet:
    """A validation set, whole; InputError with the images that cannot be read, since a score without them would be of
    another set."""
    rows, bad = list[np.ndarray](), list[tuple[str, BadImage]]()
    keys = stream_keys(_VALID, np.arange(len(corpus))).tolist()
    for line, number in enumerate(keys):
        try:
            rows.append(packed_row(number, read_picture(corpus, line, images)))
        except BadImage as error:
            bad.append((corpus.place(line), error))
    if bad:
        raise unreadable(bad, key=key, count=len(corpus), fix="repair the image, or take it out of the set")
    return ImageSet(name, joined(rows), classes)

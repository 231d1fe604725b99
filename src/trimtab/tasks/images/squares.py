"""Images of one size with their classes: the stream, the validation sets, and everything that a run opens."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from trimtab.config.images import ImageConfig
from trimtab.config.run import Recipe
from trimtab.data.order import random_stream, stream_keys
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.stream_sample import Sample, first_examples
from trimtab.tasks.images.feed import ImageFeed, ImagePlace, joined
from trimtab.tasks.images.labelled import labels_in, open_pictures, squared
from trimtab.tasks.images.pixels import BadImage, unreadable
from trimtab.tasks.images.rendering import augmented
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
from trimtab.units import counted

KEY = 8
"""Bytes before the pixels of a row: what all random numbers of the example follow from."""
MOST_KEPT = 1 << 28
"""Bytes of images that each process keeps, so that it need not decompress them again in every epoch."""
_VALID = -1
"""In place of an epoch, in the keys of validation images: they have the same noise in every evaluation."""
_AUGMENT = 2
"""What a random stream is for."""


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
class SquareFeed(ImageFeed):
    """Images after their keys, and the numbers of their classes."""

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
        pixels = self.pixels(place) if self.images.augment is None else self.changed(place)
        return packed_row(key, pixels), [int(self.classes[place.corpus][place.line])]

    def pixels(self, place: ImagePlace) -> np.ndarray:
        """An image at its size, `size size channels`, uint8. Raises BadImage."""
        found = self.kept.pixels.get((place.corpus, place.line))
        if found is not None:
            return found
        pixels = read_square(self.corpora[place.corpus], place.line, self.images)
        return self.kept.add((place.corpus, place.line), pixels)

    def changed(self, place: ImagePlace) -> np.ndarray:
        """The same after the random changes of training, which are other ones each time."""
        assert self.images.augment is not None
        image, _ = self.corpora[place.corpus].image(place.line, self.images, random_stream(0))
        rng = random_stream(self.mixture.seed, place.turn, place.corpus, place.line, _AUGMENT)
        return squared(augmented(image, self.images.augment, rng=rng), self.images)


def read_square(corpus: ImageCorpus, line: int, config: ImageConfig) -> np.ndarray:
    """An image at its size, `size size channels`, uint8. Raises BadImage."""
    image, _ = corpus.image(line, config, random_stream(0))
    return squared(image, config)


def packed_row(key: int, pixels: np.ndarray) -> np.ndarray:
    """A row of bytes: the key, then the pixels `side side channels`."""
    head = np.array([key], "<u8").view(np.uint8)
    return np.concatenate([head, np.ascontiguousarray(pixels).reshape(-1)])


def unpacked(rows: Ragged, *, side: int, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys `images`, uint64, and pixels `images channels side side`, uint8, of rows of bytes."""
    whole = rows.values.reshape(len(rows), -1) if len(rows) else np.empty((0, KEY), np.uint8)
    keys = np.ascontiguousarray(whole[:, :KEY]).view("<u8").reshape(-1).astype(np.uint64)
    pixels = whole[:, KEY:].reshape(len(rows), side, side, channels)
    return keys, pixels.transpose(0, 3, 1, 2)


@dataclass(frozen=True, slots=True)
class SquareSet:
    """A validation set, whole."""

    name: str
    rows_of_bytes: Ragged
    """Key and pixels of each image."""
    classes: np.ndarray
    """Numbers, int32."""
    places: tuple[str, ...] = ()
    """Where each image is."""

    @property
    def rows(self) -> int:
        """Examples that the loss is measured on."""
        return len(self.rows_of_bytes)

    @property
    def fingerprint(self) -> str:
        """What its scores depend on: how many images, and a sha256 of their pixels, classes and keys."""
        mark = hashlib.sha256(self.rows_of_bytes.values.tobytes() + self.classes.tobytes())
        return f"{self.rows:,} images, sha256 {mark.hexdigest()[:32]}"


@dataclass(frozen=True, kw_only=True)
class Squares:
    """Everything that is read, ready to be read; see `tasks.task.Datasets`."""

    corpora: list[ImageCorpus]
    labels: Labels
    feed: SquareFeed
    stages: Stages
    valid: dict[str, SquareSet]
    sample: Sample
    patches: int
    """Of an image."""

    @cached_property
    def sample_pixels(self) -> np.ndarray:
        """The images of the sample, `images numbers`, uint8."""
        return self.sample.source.values.reshape(len(self.sample.source), -1)[:, KEY:]

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
        classes = (
            f"of {counted(len(self.labels), 'class', 'classes')}" if len(self.labels) else "without classes"
        )
        return f"{counted(self.positions_per_epoch, 'image')} {classes}"


class Opened(NamedTuple):
    """What `Squares` are made of, as far as every task opens it alike."""

    corpora: list[ImageCorpus]
    labels: Labels
    feed: SquareFeed
    stages: Stages
    valid: dict[str, SquareSet]
    sample: Sample


def open_squares(recipe: Recipe, *, tokenizer_folder: Path) -> Opened:
    """The images that a recipe with absolute paths names, their classes and the sets; InputError for each file, label
    or validation image that is wrong."""
    images = images_of(recipe)
    opened = open_each(recipe, lambda files, key: open_pictures(files, key=key, seed=recipe.seed))
    corpora = of_training(opened)
    labels = prepare_labels(corpora, folder=tokenizer_folder)
    classes = each_or_problems(opened, lambda key: classes_in(opened[key], labels, key=key))
    stages = plan_stages(recipe.data, corpora, seed=recipe.data_seed)
    feed = SquareFeed(stages.mixtures[0], corpora, of_training(classes), images)
    sets = {
        name: read_set(name, corpus, classes[key], images, key=key)
        for name, (key, corpus) in of_validation(recipe, opened).items()
    }
    return Opened(corpora, labels, feed, stages, sets, first_examples(feed, stages))


def images_of(recipe: Recipe) -> ImageConfig:
    """How images are brought to size."""
    assert recipe.data.images is not None, "the task has defaults for it"
    return recipe.data.images


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
) -> SquareSet:
    """A validation set, whole; InputError with the images that cannot be read, since a score without them would be of
    another set."""
    rows, bad = list[np.ndarray](), list[tuple[str, BadImage]]()
    keys = stream_keys(_VALID, np.arange(len(corpus))).tolist()
    for line, number in enumerate(keys):
        try:
            rows.append(packed_row(number, read_square(corpus, line, images)))
        except BadImage as error:
            bad.append((corpus.place(line), error))
    if bad:
        raise unreadable(bad, key=key, count=len(corpus), fix="repair the image, or take it out of the set")
    return SquareSet(name, joined(rows), classes, tuple(map(corpus.place, range(len(corpus)))))


def slices(count: int, size: int) -> Iterator[slice]:
    """0 to `count` in parts of at most `size`."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))

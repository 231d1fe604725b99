"""The data of a run, opened: images with their classes, and the validation sets."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from trimtab.checkpoint.durable import replace_file
from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.diffusion_model import DiffusionModel
from trimtab.config.images import ImageConfig
from trimtab.config.run import Recipe
from trimtab.data.chunk import Chunk
from trimtab.data.mixture import Mixture
from trimtab.data.order import random_stream, stream_keys
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.stream_sample import Sample, first_examples
from trimtab.errors import InputError, Problem
from trimtab.progress import Progress
from trimtab.tasks.classification.labels import LABELS_FILE, Labels, load_labels
from trimtab.tasks.diffusion.batches import KEY, packed_row
from trimtab.tasks.diffusion.process import Process
from trimtab.tasks.diffusion.sources import labels_in, open_pictures, squared
from trimtab.tasks.recognition.pixels import BadImage
from trimtab.tasks.recognition.sources import ImageCorpus
from trimtab.tasks.text.datasets import keyed_files
from trimtab.types import DroppedExample, Ragged

MOST_NAMED = 10
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
class ImageFeed:
    """All that turns positions of the stream into examples; may be pickled. See `data.chunk.MakesChunks`."""

    corpora: Sequence[ImageCorpus]
    classes: Sequence[np.ndarray]
    """The number of each image's class, int32, for each corpus."""
    images: ImageConfig
    mixture: Mixture
    kept: ImageCache = field(default_factory=ImageCache, compare=False)

    parts_per_position: ClassVar[int] = 1
    positions_per_chunk: ClassVar[int] = 256
    sample_positions: ClassVar[int] = 512
    shares_length: ClassVar[bool] = False
    within_slack: ClassVar[float] = 1.0
    fingerprints: ClassVar[dict[str, str]] = {}
    max_tokens: ClassVar[int] = 1
    """An example is one target."""

    def chunk(self, *, start: int, count: int) -> Chunk:
        """The examples at so many positions, a function of its arguments alone: `source` has the key and the pixels of
        each image, `target` the number of its class. What cannot be read is dropped with the reason."""
        places, seed = self.mixture.at(np.arange(start, start + count)), self.mixture.seed
        keys = stream_keys(seed, places.turn, places.corpus, places.line)
        rows, classes = list[np.ndarray](), list[int]()
        kept, dropped = list[int](), list[tuple[int, str]]()
        numbers = zip(places.corpus.tolist(), places.line.tolist(), keys.tolist(), strict=True)
        for place, (corpus, line, key) in enumerate(numbers):
            try:
                rows.append(packed_row(key, self.pixels(corpus, line)))
            except BadImage as bad:
                dropped.append((place, bad.reason))
                continue
            kept.append(place)
            classes.append(int(self.classes[corpus][line]))
        chosen = np.array(kept, np.int64)
        return Chunk(
            source=joined(rows),
            target=Ragged.of([[each] for each in classes]),
            corpus=places.corpus[chosen],
            line=places.line[chosen],
            position=start + chosen,
            dropped=tuple(
                DroppedExample(int(places.corpus[place]), int(places.line[place]), reason)
                for place, reason in dropped
            ),
            dropped_position=start + np.array([place for place, _ in dropped], np.int64),
            prompt=np.zeros(len(kept), np.int32),
        )

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


def joined(rows: Sequence[np.ndarray]) -> Ragged:
    """Rows of bytes in one array."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return Ragged(np.concatenate(rows) if rows else np.empty(0, np.uint8), offsets)


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
    feed: ImageFeed
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
        data = {
            f"data.train.{number}": f"{len(corpus):,} images, sha256 {corpus.fingerprint[:32]}"
            for number, corpus in enumerate(self.corpora)
        }
        data |= {f"data.valid.{name}": valid.fingerprint for name, valid in self.valid.items()}
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
    opened, problems = dict[str, ImageCorpus](), list[Problem]()
    (_, _), (valid_keys, _) = files_by_key = keyed_files(recipe)
    for keys, files in files_by_key:
        for key, each in zip(keys, files, strict=True):
            assert isinstance(each, TrainCorpus | ValidFiles)
            try:
                opened[key] = open_pictures(each, key=key, seed=recipe.seed)
            except InputError as error:
                problems += error.problems
    if problems:
        raise InputError(*problems)
    corpora = [corpus for key, corpus in opened.items() if key.startswith("data.train")]
    labels = prepare_labels(corpora, folder=tokenizer_folder)
    classes: dict[str, np.ndarray] = {}
    for key, corpus in opened.items():
        try:
            classes[key] = numbered(corpus, labels, key=key)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*problems)
    stages = plan_stages(recipe.data, corpora, seed=recipe.data_seed)
    of_training = [found for key, found in classes.items() if key.startswith("data.train")]
    feed = ImageFeed(corpora, of_training, images, stages.mixtures[0])
    sets = {
        name: read_set(name, opened[key], classes[key], images, key=key)
        for name, key in zip(recipe.data.valid, valid_keys, strict=True)
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
    path = folder / LABELS_FILE
    if path.exists():
        return load_labels(folder)
    labels = Labels(tuple(sorted({label for corpus in corpora for label in labels_in(corpus)} - {""})))
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(path, (json.dumps(labels.names, ensure_ascii=False, indent=1) + "\n").encode())
    return labels


def numbered(corpus: ImageCorpus, labels: Labels, *, key: str) -> np.ndarray:
    """The number of the class of each image, int32; InputError for classes that the training data does not have."""
    numbers = {**labels.numbers, "": len(labels)}
    found, unknown = list[int](), dict[str, int]()
    for line, label in enumerate(labels_in(corpus)):
        found.append(numbers.get(label, -1))
        if label not in numbers:
            unknown.setdefault(label, line)
    if unknown:
        raise InputError(
            *(
                Problem(
                    what=f"{key}: {corpus.place(line)}: a class that the training data does not have",
                    got=repr(label),
                    allowed=labels.shown() or "no class",
                    fix="correct it, or add images of this class to data.train and start a new run",
                )
                for label, line in [*unknown.items()][:MOST_NAMED]
            )
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
        more = f"; {len(bad):,} of {len(corpus):,} images cannot be read" if len(bad) > 1 else ""
        raise InputError(
            *(
                Problem(
                    what=f"{key}: {place}: {error.reason}",
                    got=error.found + (more if number == 0 else ""),
                    fix="repair the image, or take it out of the set",
                )
                for number, (place, error) in enumerate(bad[:MOST_NAMED])
            )
        )
    return ImageSet(name, joined(rows), classes)

"""The data of a run, opened: images with their texts, the characters, the validation sets."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.images import ImageConfig
from trimtab.config.run import Recipe
from trimtab.config.vision_model import VisionModel
from trimtab.data.chunk import Chunk
from trimtab.data.id_filter import TOO_LONG
from trimtab.data.mixture import Mixture
from trimtab.data.order import random_stream
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.stream_sample import Sample, first_examples
from trimtab.data.transforms.apply import EMPTY_TARGET
from trimtab.errors import InputError, Problem
from trimtab.progress import Progress
from trimtab.tasks.recognition.charset import Charset, prepare_charset
from trimtab.tasks.recognition.pixels import BadImage, fitted, padded, row_size, to_row
from trimtab.tasks.recognition.rendering import augmented
from trimtab.tasks.recognition.sources import ImageCorpus, open_images
from trimtab.tasks.text.datasets import keyed_files
from trimtab.types import DroppedExample, Ragged

TOO_NARROW = "more characters than CTC has columns for"
_AUGMENT, _VALID = 2, 3
"""What a random stream is for, beside rendering."""
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class ImageReader:
    """What turns an image and its text into a row of bytes and a row of ids; may be pickled."""

    images: ImageConfig
    charset: Charset
    patch: tuple[int, int]
    multiple: tuple[int, int]
    """Both sides of an image are multiples of these pixels."""
    max_tokens: int
    head: Literal["ctc", "attention", "both"]
    """What writes the text."""

    def rows(self, image: object, text: str, rng: np.random.Generator | None) -> tuple[np.ndarray, list[int]]:
        """Image and text in training, where there is an `rng`; in validation, unchanged and never dropped for its size.

        Raises BadImage with the reason for which an example cannot be trained on.
        """
        in_training = rng is not None
        (ids,) = self.charset.encode([text])
        if len(ids) < 2:
            raise BadImage(EMPTY_TARGET, repr(text[:20]))
        if in_training and len(ids) > self.max_tokens:
            raise BadImage(TOO_LONG, f"{len(ids) - 1:,} characters")
        sized = fitted(image, self.images, squeeze=not in_training)  # type: ignore[arg-type]
        if rng is not None and self.images.augment is not None:
            sized = augmented(sized, self.images.augment, rng=rng)
        pixels = padded(sized, self.multiple)
        if (
            in_training
            and self.head != "attention"
            and columns_needed(ids[:-1]) > pixels.shape[1] // self.patch[1]
        ):
            raise BadImage(TOO_NARROW, f"{len(ids) - 1} in {pixels.shape[1] // self.patch[1]}")
        return to_row(pixels), ids


def columns_needed(ids: Sequence[int]) -> int:
    """Columns without which CTC gives a text no probability: one for each character, and a blank between equal ones."""
    return len(ids) + sum(one == other for one, other in pairwise(ids))


@dataclass(frozen=True, slots=True)
class ImageFeed:
    """All that turns positions of the stream into examples; may be pickled. See `data.chunk.MakesChunks`."""

    corpora: Sequence[ImageCorpus]
    reader: ImageReader
    mixture: Mixture

    parts_per_position: ClassVar[int] = 1
    positions_per_chunk: ClassVar[int] = 128
    sample_positions: ClassVar[int] = 512
    shares_length: ClassVar[bool] = False
    within_slack: ClassVar[float] = 1.0
    fingerprints: ClassVar[dict[str, str]] = {}

    @property
    def max_tokens(self) -> int:
        """Length of the longest text in characters, its end included."""
        return self.reader.max_tokens

    def chunk(self, *, start: int, count: int) -> Chunk:
        """The examples at so many positions, a function of its arguments alone: `source` has the bytes of each image,
        `target` the ids of its text. What cannot be read is dropped with the reason."""
        places = self.mixture.at(np.arange(start, start + count))
        seed, dropped, kept = self.mixture.seed, list[tuple[int, str]](), list[int]()
        images, texts = list[np.ndarray](), list[list[int]]()
        numbers = zip(places.corpus.tolist(), places.line.tolist(), places.turn.tolist(), strict=True)
        for place, (corpus, line, turn) in enumerate(numbers):
            rng = random_stream(seed, turn, corpus, line)
            try:
                image, text = self.corpora[corpus].image(line, self.reader.images, rng)
                row, ids = self.reader.rows(image, text, random_stream(seed, turn, corpus, line, _AUGMENT))
            except BadImage as bad:
                dropped.append((place, bad.reason))
                continue
            kept.append(place)
            images.append(row)
            texts.append(ids)
        chosen = np.array(kept, np.int64)
        return Chunk(
            source=joined(images),
            target=Ragged.of(texts),
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


def joined(rows: Sequence[np.ndarray]) -> Ragged:
    """Rows of bytes in one array."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return Ragged(np.concatenate(rows) if rows else np.empty(0, np.uint8), offsets)


def image_sizes(rows: Ragged) -> np.ndarray:
    """Height and width in pixels of each image, `images 2`, int64."""
    sizes = [row_size(rows.row(number)) for number in range(len(rows))]
    return np.array(sizes, np.int64).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class ImageSet:
    """A validation set, whole."""

    name: str
    images: Ragged
    """The bytes of each image."""
    texts: list[str]
    """As they are compared: in the Unicode form of the run."""
    ids: Ragged
    places: list[str]
    unknown: dict[str, int]
    """Characters that the model cannot write, and how often they occur."""

    @property
    def rows(self) -> int:
        """Examples that the loss is measured on."""
        return len(self.images)

    @property
    def fingerprint(self) -> str:
        """What its scores depend on: how many images, and a sha256 of their pixels and texts."""
        mark = hashlib.sha256(self.images.values.tobytes() + "\n".join(self.texts).encode())
        return f"{len(self.texts):,} images, sha256 {mark.hexdigest()[:32]}"


@dataclass(frozen=True)
class ImageDatasets:
    """Everything that is read, ready to be read; see `tasks.task.Datasets`."""

    corpora: list[ImageCorpus]
    reader: ImageReader
    feed: ImageFeed
    stages: Stages
    valid: dict[str, ImageSet]
    sample: Sample

    @property
    def charset(self) -> Charset:
        """Of the texts."""
        return self.reader.charset

    @cached_property
    def sizes(self) -> np.ndarray:
        """Height and width of each image of the sample."""
        return image_sizes(self.sample.source)

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes, by name."""
        data = {
            f"data.train.{number}": f"{len(corpus):,} images, sha256 {corpus.fingerprint[:32]}"
            for number, corpus in enumerate(self.corpora)
        }
        data |= {f"data.valid.{name}": valid.fingerprint for name, valid in self.valid.items()}
        return {**data, "charset": self.charset.fingerprint}

    @property
    def positions_per_epoch(self) -> int:
        """How far an epoch moves the stream's position."""
        return self.feed.mixture.examples_per_epoch

    @property
    def targets_per_epoch(self) -> float:
        """Characters of an epoch, estimated from the sample."""
        return self.positions_per_epoch * self.sample.targets / max(1, self.sample.seen)

    @property
    def tokens_per_target(self) -> float:
        """Patches of the sample for each character."""
        patches = self.sizes.prod(1).sum() / np.prod(self.reader.patch)
        return float(patches / max(1, self.sample.targets))

    @property
    def epoch_size(self) -> str:
        """An epoch in words."""
        return f"{self.positions_per_epoch} images with {len(self.charset)} different characters"


def reader_of(recipe: Recipe, charset: Charset) -> ImageReader:
    """How a recipe reads images."""
    model, images = recipe.model, recipe.data.images
    assert isinstance(model, VisionModel), "other kinds are refused with the recipe"
    assert images is not None, "the task has defaults for it"
    return ImageReader(images, charset, model.patch, model.multiple, recipe.data.max_tokens, model.head)


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> ImageDatasets:
    """Opens what a recipe with absolute paths names; see `tasks.task.Task.open_datasets`."""
    progress.message("reading the lists of images")
    config = recipe.data.charset
    assert config is not None, "the task has defaults for it"
    form = config.normalization
    opened, problems = dict[str, ImageCorpus](), list[Problem]()
    for keys, files in keyed_files(recipe):
        for key, each in zip(keys, files, strict=True):
            assert isinstance(each, TrainCorpus | ValidFiles)
            try:
                opened[key] = open_images(each, key=key, seed=recipe.seed, normalization=form)
            except InputError as error:
                problems += error.problems
    if problems:
        raise InputError(*problems)
    corpora = [corpus for key, corpus in opened.items() if key.startswith("data.train")]
    texts = (pair for corpus in corpora for pair in corpus.texts())
    charset = prepare_charset(config, texts, folder=tokenizer_folder)
    reader = reader_of(recipe, charset)
    stages = plan_stages(recipe.data, corpora, seed=recipe.data_seed)
    feed = ImageFeed(corpora, reader, stages.mixtures[0])
    sample = first_examples(feed, stages)
    (_, _), (keys, _) = keyed_files(recipe)
    sets = {
        name: read_set(name, opened[key], reader, key=key, seed=recipe.seed)
        for name, key in zip(recipe.data.valid, keys, strict=True)
    }
    return ImageDatasets(corpora, reader, feed, stages, sets, sample)


def read_set(name: str, corpus: ImageCorpus, reader: ImageReader, *, key: str, seed: int) -> ImageSet:
    """A validation set, whole; InputError with the images that cannot be read, since a score without them would be of
    another set."""
    images, texts, ids, unknown = list[np.ndarray](), list[str](), list[list[int]](), dict[str, int]()
    bad = list[tuple[str, BadImage]]()
    for line, (image, text) in _each(corpus, reader.images, seed=seed):
        try:
            if isinstance(image, BadImage):
                raise image
            row, found = reader.rows(image, text, None)
        except BadImage as error:
            bad.append((corpus.place(line), error))
            continue
        images.append(row)
        texts.append(reader.charset.normalize(text))
        ids.append(found)
        for character in reader.charset.unknown_in(text):
            unknown[character] = unknown.get(character, 0) + texts[-1].count(character)
    if bad:
        more = f"; {len(bad):,} of {len(corpus):,} images cannot be read" if len(bad) > 1 else ""
        raise InputError(
            *(
                Problem(
                    what=f"{key}: {place}: {error.reason}",
                    got=error.found + (more if number == 0 else ""),
                    fix="repair the image, or take its line out of the list",
                )
                for number, (place, error) in enumerate(bad[:MOST_NAMED])
            )
        )
    places = [corpus.place(line) for line in range(len(corpus))]
    return ImageSet(name, joined(images), texts, Ragged.of(ids), places, unknown)


def _each(corpus: ImageCorpus, config: ImageConfig, *, seed: int) -> Iterator[tuple[int, tuple[object, str]]]:
    """Each image with its text; a BadImage in place of one that cannot be read. What is rendered depends on the seed
    and the line alone."""
    for line in range(len(corpus)):
        try:
            yield line, corpus.image(line, config, random_stream(seed, line, _VALID))
        except BadImage as error:
            yield line, (error, "")

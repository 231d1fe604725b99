"""The data of a run, opened: images with their texts, the characters, the validation sets."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from trimtab.config.images import ImageConfig
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.config.trocr_model import Resample, TrOCRModel
from trimtab.config.vision_model import VisionModel
from trimtab.data.id_filter import TOO_LONG
from trimtab.data.order import random_stream
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.stream_sample import Sample, first_examples
from trimtab.data.transforms.apply import EMPTY_TARGET
from trimtab.progress import Progress
from trimtab.tasks.images.feed import ImageFeed, ImagePlace, joined
from trimtab.tasks.images.pixels import BadImage, fitted, padded, row_size, to_row, unreadable
from trimtab.tasks.images.rendering import augmented
from trimtab.tasks.images.sources import ImageCorpus, open_images
from trimtab.tasks.recipe_files import fingerprints_of, of_training, of_validation, open_each
from trimtab.tasks.recognition.charset import AnyCharset, Pieces, prepare_charset, prepare_pieces
from trimtab.types import Ragged
from trimtab.units import counted

TOO_NARROW = "more characters than CTC has columns for"
_AUGMENT, _VALID = 2, 3
"""What a random stream is for, beside rendering."""


@dataclass(frozen=True, slots=True)
class ImageReader:
    """What turns an image and its text into a row of bytes and a row of ids; may be pickled."""

    images: ImageConfig
    charset: AnyCharset
    patch: tuple[int, int]
    multiple: tuple[int, int]
    """Both sides of an image are multiples of these pixels."""
    max_tokens: int
    head: Literal["ctc", "attention", "both"]
    """What writes the text."""
    resample: Resample = "bicubic"
    """The filter that `fit: stretch` resizes with, as the model was trained; other images are resized by `fitted`."""

    def sized(self, image: Image.Image) -> Image.Image:
        """The image as the model reads it, before padding."""
        if self.images.fit != "stretch":
            return fitted(image, self.images)
        return image.resize((self.images.size,) * 2, Image.Resampling[self.resample.upper()])

    def varied(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        """The same in training. An image that is stretched is changed at its own shape, since a slant would be another
        one afterwards, and made lower before where it is higher than the model needs; all others at the size of the
        model. Raises BadImage for one that the recipe drops."""
        augment, size = self.images.augment, self.images.size
        if self.images.fit != "stretch":
            found = fitted(image, self.images, squeeze=False)
            return found if augment is None else augmented(found, augment, rng=rng)
        if augment is None:
            return self.sized(image)
        if image.height > size:
            width = max(1, round(image.width * size / image.height))
            image = image.resize((width, size), Image.Resampling.BICUBIC)
        return self.sized(augmented(image, augment, rng=rng))

    def rows(
        self, image: Image.Image, text: str, rng: np.random.Generator | None
    ) -> tuple[np.ndarray, list[int]]:
        """Image and text in training, where there is an `rng`; in validation, unchanged and never dropped for its size.

        Raises BadImage with the reason for which an example cannot be trained on.
        """
        in_training = rng is not None
        (ids,) = self.charset.encode([text])
        if len(ids) < 2:
            raise BadImage(EMPTY_TARGET, repr(text[:20]))
        if in_training and len(ids) > self.max_tokens:
            raise BadImage(TOO_LONG, f"{len(ids) - 1:,} characters")
        pixels = padded(self.sized(image) if rng is None else self.varied(image, rng), self.multiple)
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
class LineFeed(ImageFeed):
    """Images with the ids of their texts."""

    corpora: Sequence[ImageCorpus]
    reader: ImageReader

    @property
    def max_tokens(self) -> int:
        """Length of the longest text in characters, its end included."""
        return self.reader.max_tokens

    def example(self, place: ImagePlace) -> tuple[np.ndarray, Sequence[int]]:
        """The image as it is drawn and changed this time, and the ids of its text."""
        key = (self.mixture.seed, place.turn, place.corpus, place.line)
        image, text = self.corpora[place.corpus].image(place.line, self.reader.images, random_stream(*key))
        return self.reader.rows(image, text, random_stream(*key, _AUGMENT))


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
    feed: LineFeed
    stages: Stages
    valid: dict[str, ImageSet]
    sample: Sample

    @property
    def charset(self) -> AnyCharset:
        """Of the texts."""
        return self.reader.charset

    @cached_property
    def sizes(self) -> np.ndarray:
        """Height and width of each image of the sample."""
        return image_sizes(self.sample.source)

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes, by name."""
        data = fingerprints_of(self.corpora, self.valid, what="images")
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
        symbol = "different piece" if isinstance(self.charset, Pieces) else "different character"
        return f"{counted(self.positions_per_epoch, 'image')} with {counted(len(self.charset), symbol)}"


def reader_of(recipe: Recipe, charset: AnyCharset) -> ImageReader:
    """How a recipe reads images."""
    model, images = recipe.model, recipe.data.images
    assert isinstance(model, VisionModel | TrOCRModel), "other kinds are refused with the recipe"
    assert images is not None, "the task has defaults for it"
    resample: Resample = model.resample if isinstance(model, TrOCRModel) else "bicubic"
    longest = recipe.data.max_tokens
    return ImageReader(images, charset, model.patch, model.multiple, longest, model.head, resample)


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> ImageDatasets:
    """Opens what a recipe with absolute paths names; see `tasks.task.Task.open_datasets`."""
    progress.message("reading the lists of images")
    config = recipe.data.charset
    assert config is not None, "the task has defaults for it"
    opened = open_each(
        recipe,
        lambda files, key: open_images(files, key=key, seed=recipe.seed, normalization=config.normalization),
    )
    corpora = of_training(opened)
    texts = (pair for corpus in corpora for pair in corpus.texts())
    if isinstance(recipe.data.tokenizer, PretrainedTokenizer):
        charset = prepare_pieces(recipe.data.tokenizer, config, folder=tokenizer_folder)
    else:
        charset = prepare_charset(config, texts, folder=tokenizer_folder)
    reader = reader_of(recipe, charset)
    stages = plan_stages(recipe.data, corpora, seed=recipe.data_seed)
    feed = LineFeed(stages.mixtures[0], corpora, reader)
    sample = first_examples(feed, stages)
    sets = {
        name: read_set(name, corpus, reader, key=key, seed=recipe.seed)
        for name, (key, corpus) in of_validation(recipe, opened).items()
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
            bad.append((corpus.place_of_image(line), error))
            continue
        images.append(row)
        texts.append(reader.charset.normalize(text))
        ids.append(found)
        for character in reader.charset.unknown_in(text):
            unknown[character] = unknown.get(character, 0) + texts[-1].count(character)
    if bad:
        raise unreadable(
            bad, key=key, count=len(corpus), fix="repair the image, or take its line out of the list"
        )
    places = [corpus.place(line) for line in range(len(corpus))]
    return ImageSet(name, joined(images), texts, Ragged.of(ids), places, unknown)


def _each(
    corpus: ImageCorpus, config: ImageConfig, *, seed: int
) -> Iterator[tuple[int, tuple[Image.Image | BadImage, str]]]:
    """Each image with its text; a BadImage in place of one that cannot be read. What is rendered depends on the seed
    and the line alone."""
    for line in range(len(corpus)):
        try:
            yield line, corpus.image(line, config, random_stream(seed, line, _VALID))
        except BadImage as error:
            yield line, (error, "")

"""The data of a run, opened: images with their boxes, the categories, the validation sets."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from trimtab.config.canvas import CanvasConfig
from trimtab.config.detector_model import DetectorModel
from trimtab.config.run import Recipe
from trimtab.data.order import random_stream
from trimtab.data.stages import Stages, plan_stages
from trimtab.data.stream_sample import Sample, first_examples
from trimtab.errors import InputError, Problem, input_error
from trimtab.progress import Progress
from trimtab.tasks.detection.augment import Annotated, augmented
from trimtab.tasks.detection.categories import Categories, prepare_categories
from trimtab.tasks.detection.letterbox import Letterbox, centered
from trimtab.tasks.detection.sources import BoxCorpus, corpus_of, read_annotations
from trimtab.tasks.images.feed import ImageFeed, ImagePlace
from trimtab.tasks.images.pixels import BadImage, check_header, from_row, to_row, unreadable
from trimtab.tasks.recipe_files import fingerprints_of, of_training, of_validation, open_each
from trimtab.units import counted

TOO_MANY = "more boxes than model.queries"
_AUGMENT = 2
MOST_NAMED = 10
HEAD = 8
"""Numbers of 4 bytes before the boxes of a row: how many there are, and the six of its letterbox."""


class Example(NamedTuple):
    """An image on its canvas with its boxes."""

    pixels: np.ndarray
    """`height width 3`, uint8."""
    boxes: np.ndarray
    """float32, center, width and height as shares of the canvas."""
    categories: np.ndarray
    letterbox: Letterbox


def to_bytes(example: Example) -> np.ndarray:
    """An example in one row of bytes, as it travels from workers and in global batches."""
    box = example.letterbox
    head = np.zeros(HEAD, "<i4")
    head[:7] = (
        len(example.boxes), box.width, box.height, box.inner_width, box.inner_height, box.canvas_width,
        box.canvas_height,
    )  # fmt: skip
    parts = [
        head.view(np.uint8),
        np.ascontiguousarray(example.boxes, "<f4").reshape(-1).view(np.uint8),
        np.ascontiguousarray(example.categories, "<i4").view(np.uint8),
        to_row(example.pixels),
    ]
    return np.concatenate(parts)


def from_bytes(row: np.ndarray) -> Example:
    """The example of a row of bytes."""
    head = np.frombuffer(row[: 4 * HEAD].tobytes(), "<i4").tolist()
    count, start = head[0], 4 * HEAD
    boxes = np.frombuffer(row[start : start + 16 * count].tobytes(), "<f4").reshape(-1, 4)
    start += 16 * count
    categories = np.frombuffer(row[start : start + 4 * count].tobytes(), "<i4").astype(np.int64)
    return Example(from_row(row[start + 4 * count :]), boxes, categories, Letterbox(*head[1:7]))


def letterbox_of(row: np.ndarray) -> Letterbox:
    """The letterbox of a row of bytes, without its pixels."""
    return Letterbox(*np.frombuffer(row[: 4 * HEAD].tobytes(), "<i4").tolist()[1:7])


@dataclass(frozen=True, slots=True)
class BoxReader:
    """What turns an image with its boxes into an example; may be pickled."""

    canvas: CanvasConfig
    queries: int

    def example(self, given: Annotated, rng: np.random.Generator | None) -> Example:
        """The image on its canvas; changed by chance where there is an `rng`. Raises BadImage for more boxes than the
        model has queries, of which some could never be found."""
        if rng is not None and self.canvas.augment is not None:
            given = augmented(given, self.canvas.augment, rng=rng)
        if len(given.boxes) > self.queries:
            raise BadImage(TOO_MANY, f"{len(given.boxes)} boxes, {self.queries} queries")
        letterbox = Letterbox.of(*given.image.size, self.canvas)
        boxes = centered(letterbox.to_canvas(given.boxes)).astype(np.float32)
        return Example(letterbox.place(given.image), boxes, given.categories, letterbox)


@dataclass(frozen=True, slots=True)
class BoxFeed(ImageFeed):
    """Images with their boxes in the same row, and how many boxes each has."""

    corpora: Sequence[BoxCorpus]
    reader: BoxReader

    positions_per_chunk: ClassVar[int] = 16
    sample_positions: ClassVar[int] = 48
    max_tokens: ClassVar[int] = 1

    def example(self, place: ImagePlace) -> tuple[np.ndarray, Sequence[int]]:
        """The image with its boxes, as it is changed this time, and the number of its boxes."""
        corpus, line, turn = place
        given = Annotated(*self.corpora[corpus].image(line, self.reader.canvas))
        rng = random_stream(self.mixture.seed, turn, corpus, line, _AUGMENT)
        example = self.reader.example(given, rng)
        return to_bytes(example), [len(example.boxes)]


@dataclass(frozen=True, slots=True)
class BoxSet:
    """A validation set. Each evaluation reads its images again, since pages and photographs are large."""

    name: str
    corpus: BoxCorpus
    reader: BoxReader

    @property
    def rows(self) -> int:
        """Images that the loss is measured on."""
        return len(self.corpus)

    @property
    def fingerprint(self) -> str:
        """What its scores depend on."""
        return f"{self.rows:,} images, sha256 {self.corpus.fingerprint[:32]}"

    def examples(self, lines: Sequence[int] | None = None) -> Iterator[Example]:
        """The images in their order, unchanged by chance."""
        for line in range(self.rows) if lines is None else lines:
            try:
                given = Annotated(*self.corpus.image(line, self.reader.canvas))
                yield self.reader.example(given, None)
            except BadImage as bad:
                raise input_error(
                    f"data.valid.{self.name}: {self.corpus.place(line)}: {bad.reason}",
                    got=bad.found,
                    fix="repair the image, or take it out of the list"
                    if bad.reason != TOO_MANY
                    else "raise model.queries",
                ) from None


@dataclass(frozen=True)
class BoxDatasets:
    """Everything that is read, ready to be read; see `tasks.task.Datasets`."""

    corpora: list[BoxCorpus]
    categories: Categories
    reader: BoxReader
    feed: BoxFeed
    stages: Stages
    valid: dict[str, BoxSet]
    sample: Sample

    @property
    def fingerprints(self) -> dict[str, str]:
        """What must not change when a run resumes, by name."""
        data = fingerprints_of(self.corpora, self.valid, what="images")
        return {**data, "categories": self.categories.fingerprint}

    @property
    def positions_per_epoch(self) -> int:
        """How far an epoch moves the stream's position."""
        return self.feed.mixture.examples_per_epoch

    @property
    def boxes_per_image(self) -> float:
        """Of the sample."""
        return float(self.sample.target.values.mean()) if len(self.sample.target) else 0.0

    @property
    def targets_per_epoch(self) -> float:
        """Boxes of an epoch, estimated from the sample."""
        return self.positions_per_epoch * self.boxes_per_image

    @property
    def tokens_per_target(self) -> float:
        """Images for each box."""
        return 1 / max(self.boxes_per_image, 1e-3)

    @property
    def epoch_size(self) -> str:
        """An epoch in words."""
        return (
            f"{counted(self.positions_per_epoch, 'image')} with "
            f"{counted(len(self.categories), 'category', 'categories')}"
        )


def reader_of(recipe: Recipe) -> BoxReader:
    """How a recipe reads images."""
    assert isinstance(recipe.model, DetectorModel), "other kinds are refused with the recipe"
    assert recipe.data.canvas is not None, "the task has defaults for it"
    return BoxReader(recipe.data.canvas, recipe.model.queries)


def open_datasets(recipe: Recipe, *, tokenizer_folder: Path, progress: Progress) -> BoxDatasets:
    """Opens what a recipe with absolute paths names; see `tasks.task.Task.open_datasets`."""
    progress.message("reading the lists of boxes")
    read = open_each(recipe, lambda files, key: (read_annotations(files, key=key), files))
    categories = prepare_categories([found for found, _ in of_training(read)], folder=tokenizer_folder)
    opened = {key: corpus_of(found, files, categories) for key, (found, files) in read.items()}
    corpora = of_training(opened)
    check_boxes(corpora)
    reader = reader_of(recipe)
    check_queries(opened, reader.queries)
    stages = plan_stages(recipe.data, corpora, seed=recipe.data_seed)
    feed = BoxFeed(stages.mixtures[0], corpora, reader)
    sets = {name: BoxSet(name, corpus, reader) for name, (_, corpus) in of_validation(recipe, opened).items()}
    check_validation_images(sets.values())
    return BoxDatasets(corpora, categories, reader, feed, stages, sets, first_examples(feed, stages))


def check_boxes(corpora: Sequence[BoxCorpus]) -> None:
    """InputError where there is no box at all to learn from."""
    if any((corpus.categories >= 0).any() for corpus in corpora):
        return
    faults = [each.annotations.faults for each in corpora]
    said = "; ".join(found.said(reason) for found in faults for reason in found.counts)
    raise input_error(
        "data.train: no box is left to train on",
        got=said or f"{sum(map(len, corpora)):,} images and no annotation",
        allowed="at least one box with an area inside its image",
        fix="correct the list: COCO has left, top, width and height in pixels; YOLO center and size from 0 to 1",
    )


def check_validation_images(sets: Iterable[BoxSet]) -> None:
    """InputError with the images of validation sets whose beginning cannot be read or says a wrong size: the first
    evaluation would fail, maybe hours later. What is damaged further on is seen only when they are read."""
    for valid in sets:
        bad = list[tuple[str, BadImage]]()
        for line in range(valid.rows):
            try:
                check_header(valid.corpus.annotations.images[line], valid.reader.canvas.reading)
            except BadImage as error:
                bad.append((valid.corpus.place(line), error))
        if bad:
            fix = "repair the image, or take it out of the list"
            raise unreadable(bad, key=f"data.valid.{valid.name}", count=valid.rows, fix=fix)


def check_queries(opened: dict[str, BoxCorpus], queries: int) -> None:
    """InputError with the images that have more boxes than the model has queries: some could never be found."""
    problems: list[Problem] = []
    for key, corpus in opened.items():
        counts = np.diff(corpus.annotations.offsets)
        over = np.flatnonzero(counts > queries)
        if len(over):
            most = int(over[counts[over].argmax()])
            problems.append(
                Problem(
                    what=f"{key}: {len(over):,} images have more boxes than the model has queries",
                    got=f"{int(counts[most]):,} boxes in {corpus.place(most)}; model.queries {queries}",
                    allowed=f"model.queries of at least {int(counts[most]):,}",
                    fix=f"set `model.queries: {-(-int(counts[most]) * 3 // 2)}`",
                )
            )
    if problems:
        raise InputError(*problems)

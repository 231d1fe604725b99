"""A trained detector, ready to look at images."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from trimtab.checkpoint.load import Checkpoint
from trimtab.config.canvas import CanvasConfig
from trimtab.config.detector_model import DetectorModel
from trimtab.config.run import Recipe
from trimtab.device import choose_device
from trimtab.errors import input_error
from trimtab.step.precision import Resolved, autocast, resolve_precision
from trimtab.tasks.detection.average_precision import Found
from trimtab.tasks.detection.batches import Batching, BatchShape
from trimtab.tasks.detection.building import detector_of, model_of
from trimtab.tasks.detection.categories import Categories, load_categories
from trimtab.tasks.detection.datasets import Example
from trimtab.tasks.detection.letterbox import Letterbox
from trimtab.tasks.detection.losses import classification_of
from trimtab.tasks.detection.model import Detector
from trimtab.tasks.detection.validation import objects_of, without_duplicates
from trimtab.tasks.images.given import Given, each_given, name_of, opened
from trimtab.tasks.images.pixels import BadImage
from trimtab.tasks.trained_run import trained_run

IMAGES_AT_ONCE = 64
"""Images that are loaded ahead and looked at together."""
IMAGES_OF_A_BATCH = 8
COLORS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#e377c2", "#8c564b")


@dataclass(frozen=True, slots=True)
class DetectedObject:
    """One object that was found."""

    category: str
    score: float
    """0 to 1."""
    box: tuple[float, float, float, float]
    """Left, top, right and bottom in pixels of the image as it is shown, turned as its EXIF data say."""


@dataclass(frozen=True, slots=True)
class Detections:
    """What was found in one image."""

    image: str
    """Its path; empty for one that has none."""
    width: int
    height: int
    objects: list[DetectedObject] = field(default_factory=list[DetectedObject])
    """The surest first."""
    error: str = ""
    """Why it could not be read; nothing is then found, and width and height are 0."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        told: dict[str, Any] = {"image": self.image, "width": self.width, "height": self.height}
        told["objects"] = [
            {
                "category": each.category,
                "score": round(each.score, 6),
                "box": [round(side, 2) for side in each.box],
            }
            for each in self.objects
        ]
        return told | ({"error": self.error} if self.error else {})


@dataclass(frozen=True, slots=True)
class TrainedDetector:
    """A checkpoint's model on its device, with its categories and the canvas that it was trained with."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: Detector
    categories: Categories
    canvas: CanvasConfig
    settings: DetectorModel
    """With the threshold and the removal of duplicates that are used."""
    softmax: bool

    def __repr__(self) -> str:
        return f"TrainedDetector({str(self.checkpoint.folder)!r}, {len(self.categories)} categories)"

    def detect(self, images: Iterable[Given]) -> Iterator[Detections]:
        """What is found in each image, in order and in bounded memory.

        An image is a path, the bytes of a file, a Pillow image, or an array `height width` or `height width 3` of 8
        bits. One that cannot be read has an `error` and no objects. Raises InputError for one path in place of a list.
        """
        return self._in_blocks(each_given(images))

    def _in_blocks(self, images: Iterator[Given]) -> Iterator[Detections]:
        while block := list(islice(images, IMAGES_AT_ONCE)):
            read = [self._opened(each) for each in block]
            good = [number for number, each in enumerate(read) if not isinstance(each, BadImage)]
            found = dict(zip(good, self.predict([read[number] for number in good]), strict=True))
            for number, (given, image) in enumerate(zip(block, read, strict=True)):
                if isinstance(image, BadImage):
                    yield Detections(name_of(given), 0, 0, error=str(image))
                else:
                    yield Detections(name_of(given), *image.size, objects=self._named(found[number]))

    @torch.no_grad()
    def predict(self, images: Sequence[Any], *, raw: bool = False) -> list[Found]:
        """All predictions for each opened image, whatever their score, without duplicates or `raw`, with them."""
        device = next(self.model.parameters()).device
        batching = Batching(BatchShape(1, IMAGES_OF_A_BATCH), lambda _: IMAGES_OF_A_BATCH, device)
        precision: Resolved = resolve_precision("auto", device)
        letterboxes = [Letterbox.of(*image.size, self.canvas) for image in images]
        nothing = np.zeros((0, 4), np.float32), np.zeros(0, np.int64)
        examples = (
            Example(letterbox.place(image), *nothing, letterbox)
            for image, letterbox in zip(images, letterboxes, strict=True)
        )
        out: dict[int, Found] = {}
        for numbers, batch in batching.whole_set(examples):
            with autocast(precision, device):
                predictions = self.model.predict(batch)
            rows = objects_of(predictions, [letterboxes[number] for number in numbers], softmax=self.softmax)
            out |= dict(zip(numbers, rows, strict=True))
        rows = [out[number] for number in range(len(images))]
        return rows if raw else [without_duplicates(each, self.settings) for each in rows]

    def _named(self, found: Found) -> list[DetectedObject]:
        rows = zip(found.boxes.tolist(), found.categories.tolist(), found.scores.tolist(), strict=True)
        return [
            DetectedObject(self.categories.names[kind], score, tuple(box))
            for box, kind, score in rows
            if score >= self.settings.score_threshold and box[2] > box[0] and box[3] > box[1]
        ]

    def _opened(self, given: Given) -> Image.Image | BadImage:
        try:
            return opened(given, self.canvas.reading)
        except BadImage as bad:
            return bad


def load_detector(
    spec: Path | str,
    *,
    device: str | None = None,
    score_threshold: float | None = None,
    nms: str | None = None,
) -> TrainedDetector:
    """The detector of `RUN`, `RUN@last` or `RUN@500`. `score_threshold` and `nms` replace those of its recipe.

    Raises InputError if there is no such run or checkpoint, it is no detector, the checkpoint is damaged, or recipe or
    categories are not those that it was trained with.
    """
    place = choose_device(device)
    run = trained_run(spec, task="detection", kind="detector")
    recipe = run.recipe
    categories = load_categories(run.folder.tokenizer)
    run.check_trained_with(
        categories.fingerprint,
        name="categories",
        what="categories",
        got=f"{len(categories)} categories, sha256 {categories.fingerprint[:16]}",
    )
    model = detector_of(recipe, categories)
    run.load_weights(model)
    settings = with_changes(model_of(recipe), score_threshold=score_threshold, nms=nms)
    assert recipe.data.canvas is not None, "the task has defaults for it"
    assert recipe.loss.boxes is not None, "the task has defaults for it"
    softmax = classification_of(recipe.loss.boxes, settings) == "softmax"
    ready = model.to(place).eval()
    return TrainedDetector(recipe, run.checkpoint, ready, categories, recipe.data.canvas, settings, softmax)


def with_changes(settings: DetectorModel, *, score_threshold: float | None, nms: str | None) -> DetectorModel:
    """The settings with another threshold or removal of duplicates; InputError for values that they cannot have."""
    if score_threshold is not None and not 0 <= score_threshold < 1:
        raise input_error("score_threshold: no share", got=str(score_threshold), allowed="0 to below 1")
    allowed = ("none", "iou", "iou_containment")
    if nms is not None and nms not in allowed:
        raise input_error("nms: unknown", got=str(nms), allowed=" or ".join(allowed))
    given = {"score_threshold": score_threshold, "nms": nms}
    return settings.model_copy(update={key: value for key, value in given.items() if value is not None})


def drawn(image: Image.Image, found: Detections, *, categories: Sequence[str]) -> Image.Image:
    """A copy of the image with the objects drawn in, a color for each category."""
    out = image.convert("RGB")
    draw = ImageDraw.Draw(out)
    width = max(1, round(max(out.size) / 500))
    font = ImageFont.load_default(max(10, round(max(out.size) / 60)))
    numbers = {name: number for number, name in enumerate(categories)}
    for each in reversed(found.objects):
        color = COLORS[numbers.get(each.category, 0) % len(COLORS)]
        draw.rectangle(each.box, outline=color, width=width)
        said = f"{each.category} {each.score:.2f}" if len(categories) > 1 else f"{each.score:.2f}"
        draw.text((each.box[0] + width, each.box[1] + width), said, fill=color, font=font)
    return out


def coco_results(found: Sequence[Detections], categories: Categories, ids: Sequence[int]) -> str:
    """The objects in the form of COCO's results: one JSON list with `image_id`, `category_id`, `bbox` (left, top,
    width, height) and `score`."""
    numbers = dict(zip(categories.names, categories.ids, strict=True))
    rows = [
        {
            "image_id": number,
            "category_id": numbers[each.category],
            "bbox": [
                round(side, 2)
                for side in (*each.box[:2], each.box[2] - each.box[0], each.box[3] - each.box[1])
            ],
            "score": round(each.score, 6),
        }
        for number, one in zip(ids, found, strict=True)
        for each in one.objects
    ]
    return json.dumps(rows)

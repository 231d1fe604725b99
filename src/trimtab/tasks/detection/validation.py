"""The numbers of a validation: the loss of a set, what the model finds in it, and the metrics of that."""

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw

from trimtab.config.detector_model import DetectorModel
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.data.valid_set import spread
from trimtab.metrics.catalogue import OF_BOXES
from trimtab.step.precision import autocast
from trimtab.tasks.detection.average_precision import Found, box_scores
from trimtab.tasks.detection.batches import BoxBatch, cut
from trimtab.tasks.detection.datasets import BoxSet, Example
from trimtab.tasks.detection.letterbox import Letterbox, corners
from trimtab.tasks.detection.losses import DetectionLoss
from trimtab.tasks.detection.model import Detector, Predictions
from trimtab.tasks.detection.suppression import suppressed
from trimtab.tasks.diagnoses import loss_not_finite
from trimtab.tasks.images.sheet import sheet_of
from trimtab.tasks.task import ExampleLosses, Moment, Validated

MOST = 300
"""Predictions of an image that are looked at, those with the best scores."""
SIDE = 480
"""Pixels of the longer side of an image on the sheet."""
COLUMNS = 2
TRUE, FOUND = (46, 160, 67, 90), (214, 39, 40, 255)
"""Red, green, blue and opacity: true objects are filled, predictions are outlined."""


@torch.no_grad()
def loss_of(parts: Any, model: Detector, valid: BoxSet) -> float:
    """The loss of the last layer's predictions for each box of the set; NaN where it has none."""
    total, boxes, loss = 0.0, 0, parts.stepper.loss
    model.eval()
    for _, batch in parts.batching.whole_set(valid.examples()):
        with autocast(parts.precision, parts.device):
            total += float(loss(model, batch).loss)
        boxes += batch.num_targets
    return total / boxes if boxes else math.nan


@torch.no_grad()
def validated(parts: Any, model: Detector, valid: BoxSet, moment: Moment) -> Validated:
    """The metrics of the recipe on images that are spread over the set; of the first set some images with what was
    found in them."""
    recipe = parts.recipe
    wanted = [OF_BOXES[name] for name in recipe.evaluate.metrics if name in OF_BOXES]
    if valid.rows and not math.isfinite(moment.loss):
        ill = loss_not_finite(valid.name, moment.loss, consequence=": nothing was looked for")
        return Validated(dict.fromkeys((metric.name for metric in wanted), math.nan), findings=[ill])
    lines = spread(valid.rows, recipe.evaluate.lines)
    held: list[Example] = []
    found: dict[int, Found] = {}
    model.eval()
    for numbers, batch in parts.batching.whole_set(kept_light(valid.examples(lines), held)):
        with autocast(parts.precision, parts.device):
            predictions = model.predict(batch)
        boxes = [held[number].letterbox for number in numbers]
        found |= dict(zip(numbers, objects_of(predictions, boxes, softmax=uses_softmax(parts)), strict=True))
    predicted = [found[number] for number in range(len(held))]
    true = [objects_in(example) for example in held]
    config = recipe.model
    given = box_scores(
        predicted,
        [without_duplicates(each, config) for each in predicted],
        true,
        num_categories=len(parts.datasets.categories),
        threshold=config.score_threshold,
    )
    scores: dict[str, Any] = {metric.name: round(metric.compute(given), 6) for metric in wanted}
    scores |= {"images": len(held), "seconds": round(time.perf_counter() - moment.started, 3)}
    shown = spread(len(held), recipe.evaluate.samples if moment.first else 0)
    names = parts.datasets.categories.names
    kept = {
        number: above(without_duplicates(predicted[number], config), config.score_threshold)
        for number in shown
    }
    samples = [
        {
            "line": lines[number] + 1,
            "source": valid.corpus.place(lines[number]),
            "output": in_words(kept[number], names),
            "reference": in_words(true[number], names),
        }
        for number in shown
    ]
    picture = sample_sheet(
        [valid.corpus.image(lines[number], valid.reader.canvas)[0] for number in shown],
        [true[number] for number in shown],
        [kept[number] for number in shown],
    )
    return Validated(scores, samples=samples, picture=picture)


def kept_light(examples: Iterator[Example], held: list[Example]) -> Iterator[Example]:
    """The examples, each of which is also kept without its pixels."""
    for example in examples:
        held.append(example._replace(pixels=np.empty((0, 0, 3), np.uint8)))
        yield example


def uses_softmax(parts: Any) -> bool:
    """Whether the last category means no object."""
    loss = parts.stepper.loss
    return isinstance(loss, DetectionLoss) and loss.classification == "softmax"


def objects_of(found: Predictions, letterboxes: list[Letterbox], *, softmax: bool) -> list[Found]:
    """What was found in each image, in its pixels, the best first: pairs of a box and a category, so that a box may
    have several categories, as in COCO's evaluation."""
    logits, boxes = found.logits[-1].detach().float(), found.boxes[-1].detach().float()
    probabilities = logits.softmax(-1)[..., :-1] if softmax else logits.sigmoid()
    categories = probabilities.shape[-1]
    best = probabilities.flatten(1).topk(min(MOST, probabilities.shape[1] * categories), dim=1)
    scores, places, all_boxes = best.values.cpu().numpy(), best.indices.cpu().numpy(), boxes.cpu().numpy()
    out = []
    for number, letterbox in enumerate(letterboxes):
        rows = all_boxes[number][places[number] // categories].astype(np.float64)
        in_pixels = letterbox.inside(letterbox.from_canvas(corners(rows)))
        out.append(Found(in_pixels, places[number] % categories, scores[number].astype(np.float64)))
    return out


def objects_in(example: Example) -> Found:
    """The objects of an example in the pixels of its image."""
    rows = example.letterbox.from_canvas(corners(example.boxes.astype(np.float64)))
    return Found(rows, example.categories, np.ones(len(rows)))


def without_duplicates(found: Found, config: DetectorModel) -> Found:
    """What remains after the recipe's `model.nms`."""
    return found.take(
        suppressed(
            found.boxes,
            found.scores,
            found.categories,
            nms=config.nms,
            iou=config.nms_iou,
            contained=config.nms_contained,
        )
    )


def above(found: Found, threshold: float) -> Found:
    """Predictions of at least this score."""
    return found.take(np.flatnonzero(found.scores >= threshold))


def in_words(found: Found, names: tuple[str, ...]) -> str:
    """Boxes as a line of text, for samples."""
    rows = zip(found.boxes, found.categories, strict=True)
    return "; ".join(f"{names[kind]} [{', '.join(f'{side:.1f}' for side in box)}]" for box, kind in rows)


@torch.no_grad()
def example_losses(parts: Any, window: TextGlobalBatch) -> ExampleLosses:
    """The loss of each image of a step by the model as it is, for each of its boxes; of one without boxes, whole."""
    losses: dict[int, float] = {}
    loss: DetectionLoss = parts.stepper.loss
    for number in range(len(window.target)):
        (batch,) = cut(window.source.between(number, number + 1), 1)
        losses[number] = float(image_losses(parts, loss, batch)[0])
    targets = window.target.values.astype(np.int64)
    sums = np.array([losses[number] for number in range(len(targets))])
    return ExampleLosses(sums / np.maximum(targets, 1), targets)


def image_losses(parts: Any, loss: DetectionLoss, batch: BoxBatch) -> torch.Tensor:
    """The loss of each image of a batch, of the last layer."""
    batch = batch.to(parts.device)
    with autocast(parts.precision, parts.device):
        return loss.by_image(parts.model.predict(batch), batch)[-1].double()


def sample_sheet(images: Sequence[Image.Image], true: Sequence[Found], found: Sequence[Found]) -> bytes:
    """The images on one sheet, as a PNG file: true boxes as green areas, predicted ones as red outlines.

    Boxes are left, top, right and bottom in pixels of their image.
    """
    marked = [_marked(*each) for each in zip(images, true, found, strict=True)]
    return sheet_of(marked, columns=COLUMNS)


def _marked(image: Image.Image, true: Found, found: Found) -> Image.Image:
    scale = SIDE / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    below = image.convert("RGB").resize(size, Image.Resampling.BILINEAR).convert("RGBA")
    above = Image.new("RGBA", size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(above)
    for box in (true.boxes * scale).tolist():
        draw.rectangle(box, fill=TRUE)
    for box in (found.boxes * scale).tolist():
        draw.rectangle(box, outline=FOUND)
    return Image.alpha_composite(below, above).convert("RGB")

"""How well a detector finds the objects of a list of boxes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.corpora import ValidFiles
from trimtab.errors import input_error
from trimtab.metrics.catalogue import OF_BOXES
from trimtab.tasks.detection.average_precision import Found, box_scores
from trimtab.tasks.detection.detector import TrainedDetector
from trimtab.tasks.detection.sources import BoxCorpus, corpus_of, read_annotations
from trimtab.tasks.detection.validation import without_duplicates
from trimtab.tasks.images.pixels import BadImage

AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class ListScore:
    """The scores of a list."""

    scores: dict[str, float]
    images: int
    objects: int
    unreadable: list[str]
    """Images that could not be opened; nothing was found in them."""
    left_out: list[str]
    """Boxes of the list that were not used, by reason."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        scores = {name: None if value != value else value for name, value in self.scores.items()}
        return {
            **scores,
            "images": self.images,
            "objects": self.objects,
            "unreadable": self.unreadable,
            "left_out": self.left_out,
        }

    def render(self) -> str:
        """Lines for people."""
        lines = [f"{self.images:,} images with {self.objects:,} objects"]
        for name, value in self.scores.items():
            shown = "n/a, there is nothing to count" if value != value else f"{value:.4f}"
            lines.append(f"{OF_BOXES[name].label:<16}{shown}")
        lines += [f"could not be opened, and counts as empty: {each}" for each in self.unreadable]
        lines += [f"not used: {each}" for each in self.left_out]
        return "\n".join(lines)


def score_list(detector: TrainedDetector, lists: Sequence[Path]) -> ListScore:
    """The scores of a list of boxes; InputError for anything else. Boxes that cannot be used are named."""
    if len(lists) != 1:
        raise input_error(
            "IMAGE: --score takes one list of boxes",
            got=f"{len(lists)} paths",
            allowed="a .json file in COCO's form, a data.yaml, or a folder in YOLO's form",
            fix="name the list alone",
        )
    files = ValidFiles.model_validate({"boxes": str(lists[0])})
    corpus = corpus_of(read_annotations(files, key="IMAGE"), files, detector.categories)
    predicted, objects, unreadable = list[Found](), list[Found](), list[str]()
    for start in range(0, len(corpus), AT_ONCE):
        _look(
            detector,
            corpus,
            range(start, min(len(corpus), start + AT_ONCE)),
            (predicted, objects, unreadable),
        )
    given = box_scores(
        predicted,
        [without_duplicates(each, detector.settings) for each in predicted],
        objects,
        num_categories=len(detector.categories),
        threshold=detector.settings.score_threshold,
    )
    faults = corpus.annotations.faults
    return ListScore(
        scores={name: round(metric.compute(given), 6) for name, metric in OF_BOXES.items()},
        images=len(corpus),
        objects=sum(len(each.boxes) for each in objects),
        unreadable=unreadable,
        left_out=[faults.said(reason) for reason in faults.counts],
    )


def _look(
    detector: TrainedDetector,
    corpus: BoxCorpus,
    lines: Sequence[int],
    out: tuple[list[Found], list[Found], list[str]],
) -> None:
    """Adds what is found, and what there is, in some images of a list."""
    predicted, objects, unreadable = out
    images, rows = [], dict[int, int]()
    for line in lines:
        try:
            image, boxes, categories = corpus.image(line, detector.canvas)
        except BadImage as bad:
            unreadable.append(f"{corpus.place(line)}: {bad}")
            found = corpus.annotations.of(line)
            objects.append(Found(found[0], corpus.categories[_own(corpus, line)], np.ones(len(found[0]))))
            continue
        rows[line] = len(images)
        images.append(image)
        objects.append(Found(boxes, categories, np.ones(len(boxes))))
    found = detector.predict(images, raw=True)
    nothing = Found(np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros(0))
    predicted += [found[rows[line]] if line in rows else nothing for line in lines]


def _own(corpus: BoxCorpus, line: int) -> slice:
    offsets = corpus.annotations.offsets
    return slice(int(offsets[line]), int(offsets[line + 1]))

"""Corpora of images with boxes: lists of annotations, read with the categories of the run."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from trimtab.config.canvas import CanvasConfig
from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.errors import InputError, input_error, reading
from trimtab.tasks.detection.annotations import LEFT_OUT, UNKNOWN, Annotations, Faults, checked
from trimtab.tasks.detection.categories import Categories
from trimtab.tasks.detection.coco import read_coco
from trimtab.tasks.detection.yolo import read_yolo, relative_corners
from trimtab.tasks.images.pixels import load_image


@dataclass(frozen=True)
class BoxCorpus:
    """Images with their boxes, numbered from 0. Holds no image; may be pickled."""

    annotations: Annotations
    categories: np.ndarray
    """The number of each box's category in the run; -1 for one that the run does not have."""
    name: str
    """What reports call it."""
    weight: float = 1.0
    """Times its natural sampling rate."""
    is_reversed: bool = False
    empty_documents: tuple[int, ...] = ()
    sizes_digest: str = field(default="", repr=False)

    @property
    def passed_over(self) -> dict[str, int]:
        """Boxes of the list that are not used, by reason."""
        counts = self.annotations.faults.counts
        return {reason: counts[reason] for reason in LEFT_OUT if reason in counts}

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of names, boxes, categories, and of the sizes of the image files."""
        found = self.annotations
        mark = hashlib.sha256(json.dumps([str(each.name) for each in found.images]).encode())
        for array in (found.offsets, found.boxes, self.categories):
            mark.update(array.tobytes())
        mark.update(self.sizes_digest.encode())
        return mark.hexdigest()

    def __len__(self) -> int:
        return len(self.annotations)

    def place(self, line: int) -> str:
        """The image."""
        return str(self.annotations.images[line])

    def file_of(self, line: int) -> str:
        """The file of an image."""
        return self.place(line)

    def line_number(self, line: int) -> int:
        """The number of an image in its list, from 1."""
        return line + 1

    def pair(self, line: int) -> tuple[str, str]:
        """The path of the image, and its boxes in words."""
        boxes, _ = self.annotations.of(line)
        return self.place(line), f"{len(boxes)} boxes"

    def count(self, line: int) -> int:
        """Boxes of an image with a category of the run."""
        return len(self._of(line)[0])

    def image(self, line: int, config: CanvasConfig) -> tuple[Image.Image, np.ndarray, np.ndarray]:
        """The image, upright; its boxes (left, top, right, bottom in its pixels) and their categories.

        Raises BadImage where it cannot be read. Boxes outside of it, which a list without sizes does not show, are left
        out.
        """
        image = load_image(self.annotations.images[line], config.reading)
        boxes, categories = self._of(line)
        if self.annotations.relative:
            boxes = relative_corners(boxes, *image.size)
        rows = [(int(each), box, "") for each, box in zip(categories, boxes.tolist(), strict=True)]
        inside = [*checked(rows, (float(image.width), float(image.height)), Faults())]
        kept = np.array([box for _, box in inside], np.float64).reshape(-1, 4)
        return image, kept, np.array([category for category, _ in inside], np.int64)

    def _of(self, line: int) -> tuple[np.ndarray, np.ndarray]:
        found = self.annotations
        own = slice(int(found.offsets[line]), int(found.offsets[line + 1]))
        known = self.categories[own] >= 0
        return found.boxes[own][known], self.categories[own][known]


def read_annotations(files: TrainCorpus | ValidFiles, *, key: str) -> Annotations:
    """The annotations that a recipe names; InputError, with the key of the recipe, for what cannot be read."""
    assert files.boxes is not None, "other corpora are refused with the recipe"
    path = Path(files.boxes)
    folder = None if files.image_folder is None else Path(files.image_folder)
    try:
        with reading(path):
            path.stat()
        if path.suffix == ".json":
            return read_coco(path, folder)
        if path.is_dir() or path.suffix in (".yaml", ".yml"):
            return read_yolo(path, files.split or ("val" if isinstance(files, ValidFiles) else "train"))
        raise input_error(
            f"{path}: no list of boxes",
            got=path.suffix or "a file without a suffix",
            allowed="a .json file in COCO's form, a data.yaml, or a folder in YOLO's form",
            fix="name one of them",
        )
    except InputError as error:
        raise InputError(*(replace(each, what=f"{key}: {each.what}") for each in error.problems)) from None


def corpus_of(found: Annotations, files: TrainCorpus | ValidFiles, categories: Categories) -> BoxCorpus:
    """The annotations with the numbers of the run's categories; boxes of others are counted."""
    numbers = np.array(categories.numbers_of(found.names), np.int64)
    mapped = numbers[found.categories] if len(found.categories) else found.categories
    for place in np.flatnonzero(mapped < 0).tolist():
        image = int(np.searchsorted(found.offsets, place, side="right")) - 1
        found.faults.add(UNKNOWN, f"{found.images[image]}: {found.names[found.categories[place]]}")
    return BoxCorpus(
        found,
        mapped,
        files.name or (found.path.stem if found.path.is_file() else found.path.name),
        weight=files.weight if isinstance(files, TrainCorpus) else 1.0,
        sizes_digest=_sizes(found),
    )


def _sizes(found: Annotations) -> str:
    """A digest of the sizes of the image files, so that a resumed run sees that they have changed."""
    digest = hashlib.sha256()
    for image in found.images:
        with reading(image):
            digest.update(image.stat().st_size.to_bytes(8, "little"))
    return digest.hexdigest()

"""Annotated images as lists hold them, in memory: paths, boxes, categories, and what was wrong with them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.errors import input_error
from trimtab.tasks.images.sources import HALF_CHARACTER

NO_IMAGE = "box without an image"
OUTSIDE = "box outside of its image"
CUT_OFF = "box reaches over the edge of its image, and is cut off there"
EMPTY = "box without an area"
NOT_NUMBERS = "box that is not four finite numbers"
UNKNOWN = "box of an unknown category"
CROWD = "box of a crowd (iscrowd), which is no single object"
LEFT_OUT = (NO_IMAGE, OUTSIDE, EMPTY, NOT_NUMBERS, UNKNOWN, CROWD)
"""Reasons for which a box is not used; with the others it is."""
MOST_NAMED = 20
SLACK = 1e-3
"""By how much of the image a box may reach over its edge without a word: what rounding to four digits does."""


@dataclass(slots=True)
class Faults:
    """What was wrong with the boxes of a list: how often, and where first."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    places: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, reason: str, place: str) -> None:
        """One more."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        named = self.places.setdefault(reason, [])
        if len(named) < MOST_NAMED:
            named.append(place)

    @property
    def left_out(self) -> int:
        """Boxes that are not used."""
        return sum(self.counts.get(reason, 0) for reason in LEFT_OUT)

    def said(self, reason: str, *, most: int = 3) -> str:
        """A reason with its count and the first places."""
        named, count = self.places[reason][:most], self.counts[reason]
        more = " ..." if count > len(named) else ""
        return f"{count:,} x {reason}: {'; '.join(named)}{more}"


@dataclass(frozen=True, slots=True)
class Annotations:
    """Images with their boxes, numbered from 0. Holds no pixels; may be pickled."""

    path: Path
    """The list."""
    images: tuple[Path, ...]
    ids: tuple[int, ...]
    """What the list calls each image; its number where it has none."""
    names: tuple[str, ...]
    """The categories, by number."""
    category_ids: tuple[int, ...]
    """What the list calls each category."""
    offsets: np.ndarray
    """int64: the boxes of image i are `offsets[i]` to `offsets[i + 1]`."""
    boxes: np.ndarray
    """float64, `boxes 4`: left, top, right, bottom, in pixels or as shares of the image."""
    categories: np.ndarray
    """int64."""
    relative: bool
    """Whether boxes are shares of their image."""
    faults: Faults

    def __len__(self) -> int:
        return len(self.images)

    def of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Boxes and categories of an image."""
        own = slice(self.offsets[number], self.offsets[number + 1])
        return self.boxes[own], self.categories[own]


@dataclass(slots=True)
class Collected:
    """Boxes of images while a list is read."""

    faults: Faults
    boxes: list[list[float]] = field(default_factory=list[list[float]])
    categories: list[int] = field(default_factory=list[int])
    counts: list[int] = field(default_factory=list[int])

    def add(
        self, found: Sequence[tuple[int, Sequence[float], str]], *, size: tuple[float, float] | None
    ) -> None:
        """The boxes of the next image: category, corners and place of each; `size` is width and height of the image in
        the unit of the boxes, where it is known."""
        kept = [(category, box) for category, box in checked(found, size, self.faults)]
        self.counts.append(len(kept))
        self.categories += [category for category, _ in kept]
        self.boxes += [box for _, box in kept]

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Offsets, boxes, categories."""
        offsets = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)]).astype(np.int64)
        return (
            offsets,
            np.array(self.boxes, np.float64).reshape(-1, 4),
            np.array(self.categories, np.int64),
        )


def check_names(given: Sequence[Any], path: Path) -> tuple[str, ...]:
    """The names of categories as texts; InputError for one that is empty, broken, or there twice."""
    names = tuple(str(each) if isinstance(each, str | int | float) else "" for each in given)
    for number, name in enumerate(names):
        twice = name in names[:number]
        if twice or not name.strip() or HALF_CHARACTER.search(name):
            raise input_error(
                f"{path}: " + ("two categories have the same name" if twice else "a category has no name"),
                got=json.dumps(given[number])[:80],
                allowed="a name of whole characters for each category, each once",
                fix="name it, or merge it with the other one" if twice else "name it",
            )
    return names


def checked(
    found: Sequence[tuple[int, Sequence[float], str]], size: tuple[float, float] | None, faults: Faults
) -> Iterator[tuple[int, list[float]]]:
    """The boxes that can be used, cut off at the edges of their image; the others are counted."""
    for category, box, place in found:
        if not np.isfinite(box).all():
            faults.add(NOT_NUMBERS, f"{place}: {[*box]}")
            continue
        left, top, right, bottom = map(float, box)
        if right <= left or bottom <= top:
            faults.add(EMPTY, f"{place}: {[left, top, right, bottom]}")
            continue
        if size is not None:
            width, height = size
            if right <= 0 or bottom <= 0 or left >= width or top >= height:
                faults.add(OUTSIDE, f"{place}: {[left, top, right, bottom]} of {[width, height]}")
                continue
            over = max(-left / width, -top / height, right / width - 1, bottom / height - 1)
            if over > SLACK:
                faults.add(CUT_OFF, f"{place}: {[left, top, right, bottom]} of {[width, height]}")
            left, top, right, bottom = max(left, 0.0), max(top, 0.0), min(right, width), min(bottom, height)
        yield category, [left, top, right, bottom]

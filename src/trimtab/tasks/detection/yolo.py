"""Reads annotations in YOLO's form: a text file for each image, a line for each box with the number of its category and
the center and size of the box as shares of the image."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.read_yaml import read_yaml
from trimtab.errors import input_error, reading
from trimtab.tasks.detection.annotations import (
    NO_IMAGE,
    NOT_NUMBERS,
    UNKNOWN,
    Annotations,
    Collected,
    Faults,
    check_names,
)
from trimtab.tasks.images.sources import IMAGE_SUFFIXES

DATA, CLASSES = "data.yaml", "classes.txt"
MOST_UNNAMED = 10_000
"""Categories that are known by their numbers alone, at most: a larger number is a mistake in a file."""
FORM = "a data.yaml with `train`, `val` and `names`, or a folder with images/ and labels/"


def read_yolo(given: Path, split: str) -> Annotations:
    """The images and boxes of a data.yaml, or of a folder. InputError where there is no image, or no name of the
    categories fits. A polygon counts as the box around it."""
    data = given if given.is_file() else given / DATA
    if data.is_file():
        images, names, root = _of_data(data, split)
    else:
        images, names, root = _of_folder(given)
    if not images:
        raise input_error(
            f"{given}: no images",
            got=f"no file of {', '.join(IMAGE_SUFFIXES)} in {root}",
            allowed=FORM,
            fix="name the folder of the images",
        )
    labels = [label_of(image) for image in images]
    faults = Faults()
    known = {*labels}
    for folder in sorted({label.parent for label in labels}):
        for alone in sorted(each for each in folder.glob("*.txt") if each not in known):
            if alone.name != CLASSES:
                faults.add(NO_IMAGE, str(alone))
    read = [lines_of(label, faults) for label in labels]
    unnamed = [category for found in read for category, _, _ in found if category < MOST_UNNAMED]
    names = names or tuple(str(number) for number in range(max(unnamed, default=-1) + 1))
    collected = Collected(faults)
    for found in read:
        for category, _, place in found:
            if not 0 <= category < len(names):
                faults.add(UNKNOWN, f"{place}: {category} of {len(names)} categories")
        collected.add([each for each in found if 0 <= each[0] < len(names)], size=(1.0, 1.0))
    offsets, boxes, categories = collected.arrays()
    numbers = tuple(range(len(names)))
    return Annotations(
        path=given, images=tuple(images), ids=tuple(range(len(images))), names=names, category_ids=numbers,
        offsets=offsets, boxes=boxes, categories=categories, relative=True, faults=faults,
    )  # fmt: skip


def label_of(image: Path) -> Path:
    """The file with the boxes of an image: in `labels/` where the image is in the last folder `images/` of its path,
    otherwise beside it."""
    parts = [*image.parts]
    for place in range(len(parts) - 2, -1, -1):
        if parts[place] == "images":
            parts[place] = "labels"
            return Path(*parts).with_suffix(".txt")
    return image.with_suffix(".txt")


def lines_of(path: Path, faults: Faults) -> list[tuple[int, list[float], str]]:
    """Category, corners and place of each line; an image without such a file shows no object."""
    if not path.is_file():
        return []
    with reading(path):
        text = path.read_bytes().decode("utf-8-sig", "replace")
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not (words := line.split()):
            continue
        place = f"{path}:{number}"
        try:
            category, values = float(words[0]), [float(word) for word in words[1:]]
        except ValueError:
            category, values = 0.0, list[float]()
        if not category.is_integer():
            box = None
        elif len(values) == 4:
            x, y, width, height = values
            box = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
        elif len(values) >= 6 and len(values) % 2 == 0:
            across, down = values[::2], values[1::2]
            box = [min(across), min(down), max(across), max(down)]
        else:
            box = None
        if box is None:
            faults.add(NOT_NUMBERS, f"{place}: {line[:60]!r}")
        else:
            found.append((int(category), box, place))
    return found


def _of_data(path: Path, split: str) -> tuple[list[Path], tuple[str, ...], Path]:
    with reading(path):
        text = path.read_text(encoding="utf-8", errors="replace")
    tree = read_yaml(text, name=str(path)).value
    if not isinstance(tree, Mapping) or split not in tree:
        keys = [key for key in ("train", "val", "test") if isinstance(tree, Mapping) and key in tree]
        raise input_error(
            f"{path}: has no `{split}`",
            got=f"{', '.join(keys) or 'none of train, val, test'}",
            allowed=FORM,
            fix=f"add `{split}: images/{split}`, or set `split` to one that is there",
        )
    names = _names(tree.get("names"), path)
    root = path.parent
    if isinstance(tree.get("path"), str):
        there = Path(os.path.expanduser(tree["path"]))
        root = there if there.is_absolute() and os.path.isdir(there) else root / there
        root = root if os.path.isdir(root) else path.parent
    folders = tree[split] if isinstance(tree[split], list) and tree[split] else [tree[split]]
    images: list[Path] = []
    for folder in folders:
        images += _in(root / str(folder), root)
    return images, names, root / str(folders[0])


def _names(given: Any, path: Path) -> tuple[str, ...]:
    if given is None:
        return ()
    if isinstance(given, Mapping):
        numbers = sorted(given, key=lambda each: int(each) if str(each).isdigit() else -1)
        if [str(each) for each in numbers] == [str(each) for each in range(len(numbers))]:
            return check_names([given[each] for each in numbers], path)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        return check_names(given, path)
    raise input_error(
        f"{path}: `names` are no names of categories",
        got=str(given)[:80],
        allowed="a list, or numbers from 0 with a name each",
        fix="write `names: [person, bicycle]`",
    )


def _of_folder(folder: Path) -> tuple[list[Path], tuple[str, ...], Path]:
    with reading(folder):
        inside = {each.name for each in folder.iterdir()}
    root = folder / "images" if "images" in inside else folder
    listed = folder / CLASSES if CLASSES in inside else folder / "labels" / CLASSES
    names: tuple[str, ...] = ()
    if listed.is_file():
        with reading(listed):
            lines = listed.read_text(encoding="utf-8", errors="replace").splitlines()
        names = check_names([line.strip() for line in lines if line.strip()], listed)
    return _in(root, folder), names, root


def _in(place: Path, root: Path) -> list[Path]:
    """The images of a folder, or those that a text file lists."""
    if os.path.isfile(place):
        with reading(place):
            lines = place.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        listed = [root / line.strip() for line in lines if line.strip()]
        if missing := [each for each in listed if not os.path.isfile(each)]:
            raise input_error(
                f"{place}: lists an image that cannot be found",
                got=f"{str(missing[0])[:200]}; {len(missing):,} of {len(listed):,} images are missing",
                allowed=f"paths that start from {root}",
                fix="correct the paths, or take the lines out of the list",
            )
        return listed
    if not os.path.isdir(place):
        shown = str(place)[:300]
        raise input_error(
            f"{shown}: does not exist", got=shown, allowed=FORM, fix="correct the path in data.yaml"
        )
    return sorted(each for each in place.rglob("*") if each.suffix.lower() in IMAGE_SUFFIXES)


def relative_corners(boxes: np.ndarray, width: int, height: int) -> np.ndarray:
    """Shares of an image in its pixels."""
    return boxes * np.array([width, height, width, height], np.float64)

"""Reads annotations in COCO's form (cocodataset.org/#format-data): one JSON file, boxes in pixels as left, top, width
and height, ids of categories with gaps."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from trimtab.errors import InputError, Problem, input_error, reading
from trimtab.tasks.detection.annotations import (
    CROWD,
    MOST_NAMED,
    NO_IMAGE,
    NOT_NUMBERS,
    UNKNOWN,
    Annotations,
    Collected,
    Faults,
    check_names,
)
from trimtab.tasks.images.pixels import size_of

FORM = (
    '{"images": [{"id", "file_name"}], "categories": [{"id", "name"}], "annotations": [{"image_id", "category_id", '
    '"bbox"}]}'
)
Entry = Mapping[str, Any]


def read_coco(path: Path, folder: Path | None) -> Annotations:
    """The images and boxes of a COCO file; the sizes of images that it does not tell are read from the images.
    InputError for what is no such file, has an image twice, or names images that are not there."""
    tree = _tree(path)
    images, categories = (_entries(tree, key, path) for key in ("images", "categories"))
    for key, entries, named in (("images", images, "file_name"), ("categories", categories, "name")):
        _check_once(path, key, entries, named)
    names = check_names([entry["name"] for entry in categories], path)
    places = _places(path, [str(entry["file_name"]) for entry in images], folder)
    numbers = {entry["id"]: number for number, entry in enumerate(categories)}
    by_image: dict[Any, list[tuple[int, list[float], str]]] = {entry["id"]: [] for entry in images}
    faults = Faults()
    for place, entry in enumerate(_entries(tree, "annotations", path)):
        found = _box(entry, f"annotation {entry.get('id', place)}", numbers, by_image.keys(), faults)
        if found is not None:
            by_image[entry["image_id"]].append(found)
    collected = Collected(faults)
    for entry, place in zip(images, places, strict=True):
        told = _numbers([entry.get("width"), entry.get("height")])
        known = told is not None and all(0 < side < math.inf for side in told)
        collected.add(by_image[entry["id"]], size=(told[0], told[1]) if told and known else size_of(place))
    offsets, boxes, kinds = collected.arrays()
    return Annotations(
        path=path,
        images=places,
        ids=tuple(
            entry["id"] if isinstance(entry["id"], int) else place for place, entry in enumerate(images)
        ),
        names=names,
        category_ids=tuple(
            entry["id"] if isinstance(entry["id"], int) else place for place, entry in enumerate(categories)
        ),
        offsets=offsets,
        boxes=boxes,
        categories=kinds,
        relative=False,
        faults=faults,
    )


def _tree(path: Path) -> Entry:
    with reading(path):
        raw = path.read_bytes()
    try:
        tree = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise input_error(
            f"{path}: not valid JSON", got=str(error)[:120], allowed=FORM, fix="write the file again"
        ) from None
    if not isinstance(tree, dict):
        raise input_error(
            f"{path}: is not in COCO's form",
            got=f"a JSON {type(tree).__name__}" + (", as results are" if isinstance(tree, list) else ""),
            allowed=FORM,
            fix="name the annotations",
        )
    return cast("Entry", tree)


def _entries(tree: Entry, key: str, path: Path) -> list[Entry]:
    found = tree.get(key, [] if key == "annotations" else None)
    needed = {"images": ("id", "file_name"), "categories": ("id", "name"), "annotations": ()}[key]
    if not isinstance(found, list) or (key != "annotations" and not found):
        raise input_error(
            f"{path}: `{key}` is missing or empty", got=str(found)[:60], allowed=FORM, fix=f"add `{key}`"
        )
    entries = cast("list[Any]", found)
    for place, entry in enumerate(entries):
        lacks = [name for name in needed if not isinstance(entry, dict) or name not in entry]
        if not isinstance(entry, dict) or lacks:
            raise input_error(
                f"{path}: {key}[{place}] lacks {' and '.join(lacks) or 'its keys'}",
                got=str(entry)[:80],
                allowed=FORM,
                fix="correct the entry",
            )
    return entries


def _check_once(path: Path, key: str, entries: list[Entry], named: str) -> None:
    wrong = next((entry for entry in entries if type(entry["id"]) not in (int, str)), None)
    if wrong is not None:
        raise input_error(
            f"{path}: an id of {key} is neither a whole number nor a text",
            got=str(wrong["id"])[:60],
            allowed="a number, as COCO has it, or a text",
            fix="number them from 1",
        )
    for name in ("id", named):
        seen: set[str] = set()
        for entry in entries:
            value = json.dumps(entry[name])
            if value in seen:
                raise input_error(
                    f"{path}: two {key} have the same {name}",
                    got=value,
                    allowed="each once",
                    fix="remove or rename one of them",
                )
            seen.add(value)


def _box(
    entry: Entry, place: str, categories: Mapping[Any, int], images: Any, faults: Faults
) -> tuple[int, list[float], str] | None:
    """Category, corners and place of an annotation; None for one that is counted instead."""
    if not isinstance(entry, Mapping):
        faults.add(NOT_NUMBERS, f"{place}: {str(entry)[:60]}")
        return None
    image, category, box = (entry.get(key) for key in ("image_id", "category_id", "bbox"))
    if not isinstance(image, int | str) or image not in images:
        faults.add(NO_IMAGE, f"{place}: image_id {image!r}")
        return None
    if not isinstance(category, int | str) or category not in categories:
        faults.add(UNKNOWN, f"{place}: category_id {category!r}")
        return None
    if entry.get("iscrowd") not in (None, 0, "0"):
        faults.add(CROWD, place)
        return None
    told = _numbers(box) if isinstance(box, list) else None
    if told is None or len(told) != 4:
        faults.add(NOT_NUMBERS, f"{place}: bbox {str(box)[:60]}")
        return None
    left, top, width, height = told
    return categories[category], [left, top, left + width, top + height], f"{place} of image {image}"


def _numbers(given: list[Any]) -> list[float] | None:
    """What JSON has as numbers, as floats; None where something else is among them, or a number too large for one."""
    if not all(type(each) in (int, float) for each in given):
        return None
    try:
        return [float(each) for each in given]
    except OverflowError:
        return None


def _places(path: Path, names: list[str], folder: Path | None) -> tuple[Path, ...]:
    """Where the images are; InputError with those that are not there."""
    split = path.stem.rpartition("_")[2]  # instances_train2017 is beside train2017/
    tried = [folder] if folder is not None else [
        path.parent, path.parent / "images", path.parent / split, path.parent.parent / "images",
        path.parent.parent / split, path.parent.parent,
    ]  # fmt: skip
    base = next((each for each in tried if os.path.isfile(each / names[0])), tried[0])
    missing = [name for name in names if not os.path.isfile(base / name)]
    if missing:
        more = f"; {len(missing):,} of {len(names):,} images are missing" if len(missing) > 1 else ""
        raise InputError(
            *(
                Problem(
                    what=f"{path}: the image {name[:200]!r} cannot be found",
                    got=f"no such file in {base}{more if number == 0 else ''}",
                    allowed="a path that starts from " + " or ".join(str(each) for each in tried),
                    fix="set `image_folder` to the folder of the images, or take the image out of the list",
                )
                for number, name in enumerate(missing[:MOST_NAMED])
            )
        )
    return tuple(base / name for name in names)

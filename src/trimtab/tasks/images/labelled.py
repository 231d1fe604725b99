"""Images with their classes: folders by class, one folder without classes, or a list of images with labels."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.images import ImageConfig
from trimtab.data.corpus import Corpus
from trimtab.errors import InputError, Problem, input_error, reading
from trimtab.tasks.images.pixels import fitted
from trimtab.tasks.images.sources import (
    IMAGE_SUFFIXES,
    LISTS,
    ImageCorpus,
    ListedPairs,
    checked_sizes,
    open_images,
)

LABEL = "label"
"""Of an image in a JSONL file; `text` means it too, as for recognition."""
FORMS = "a folder with a subfolder for each class, a folder of images, a .tsv (path, label), or a .jsonl (image, label)"


def open_pictures(files: TrainCorpus | ValidFiles, *, key: str, seed: int) -> ImageCorpus:
    """The images that a recipe names; what their `text` would be is the name of the class, empty where there is none.

    InputError for a list that cannot be read or has images that are not there, and for folders that leave open what
    belongs to which class.
    """
    assert files.images is not None, "other corpora are refused with the recipe"
    given = Path(files.images)
    with reading(given):
        given.stat()
    if given.is_dir() and not any((given / name).is_file() for name in LISTS):
        try:
            return _of_folder(files, given, seed=seed)
        except InputError as error:
            raise InputError(
                *(replace(each, what=f"{key}: {each.what}") for each in error.problems)
            ) from None
    return open_images(files, key=key, seed=seed, text=_name_of_labels(given))


def _name_of_labels(given: Path) -> str:
    """What the label of an image is called in a JSONL file: as its first object has it."""
    path = given / "labels.jsonl" if given.is_dir() else given
    if path.suffix not in (".jsonl", ".ndjson") or not path.is_file():
        return "text"
    with reading(path), path.open("rb") as file:
        line = file.readline(1 << 20)
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return LABEL
    return "text" if isinstance(first, dict) and "text" in first and LABEL not in first else LABEL


def _of_folder(files: TrainCorpus | ValidFiles, folder: Path, *, seed: int) -> ImageCorpus:
    """Of a folder: each subfolder is a class; without subfolders there are no classes."""
    with reading(folder):
        names = sorted(os.listdir(folder))
    classes = [name for name in names if not name.startswith(".") and (folder / name).is_dir()]
    loose = [name for name in names if Path(name).suffix.lower() in IMAGE_SUFFIXES and name not in classes]
    found = {name: [*_images_below(folder / name)] for name in classes}
    if loose and any(found.values()):
        raise input_error(
            f"{folder}: images beside folders of images, so that their class is not known",
            got=f"{len(loose):,} images, such as {loose[0]}, beside {', '.join(classes[:5])}",
            allowed=FORMS,
            fix="move them into the folder of their class",
        )
    empty = [name for name in classes if not found[name]]
    if empty and not loose:
        raise InputError(
            *(
                Problem(
                    what=f"{folder / name}: the folder of a class without images",
                    got="no file of " + ", ".join(IMAGE_SUFFIXES),
                    allowed="at least one image",
                    fix="put its images there, or remove the folder",
                )
                for name in empty[:10]
            )
        )
    pairs = [(name, "") for name in loose]
    pairs += [(str(path.relative_to(folder)), name) for name in classes for path in found[name]]
    if not pairs:
        raise input_error(
            f"{folder}: no images",
            got=f"{len(names):,} other files",
            allowed=FORMS,
            fix="name another folder",
        )
    listed = ListedPairs(folder, tuple(image for image, _ in pairs), tuple(label for _, label in pairs))
    weight = files.weight if isinstance(files, TrainCorpus) else 1.0
    opened = ImageCorpus(Corpus(files.name or folder.name, listed, weight=weight), folder, seed)
    return replace(opened, sizes_digest=checked_sizes(opened))


def _images_below(folder: Path) -> Iterator[Path]:
    """The images of a folder and of those in it, in the order of their paths."""
    with reading(folder):
        paths = sorted(folder.rglob("*"))
    return (path for path in paths if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file())


def labels_in(corpus: ImageCorpus) -> Iterator[str]:
    """The class of each image, in order; empty for none."""
    return (text.strip() for text, _ in corpus.texts())


def squared(image: Image.Image, config: ImageConfig) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """`size size channels`: the middle of the image for `fit: crop`, or all of it with margins of the median color of
    its edges for `longest`."""
    size = config.size
    if config.fit == "crop":
        pixels = np.asarray(ImageOps.fit(image, (size, size), method=Image.Resampling.BICUBIC))
        return pixels.reshape(size, size, -1)
    inner = np.asarray(fitted(image, config))
    inner = inner.reshape(*inner.shape[:2], -1)
    height, width, channels = inner.shape
    edges = np.concatenate([inner[0], inner[-1], inner[:, 0], inner[:, -1]])
    out = np.empty((size, size, channels), np.uint8)
    out[:] = np.median(edges, axis=0).astype(np.uint8)
    top, left = (size - height) // 2, (size - width) // 2
    out[top : top + height, left : left + width] = inner
    return out

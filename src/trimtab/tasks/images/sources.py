"""Corpora of images: lists of image files with their texts in five forms, and texts whose lines are rendered."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.corpora import TrainCorpus, ValidFiles
from trimtab.config.images import ImageConfig, Rendering
from trimtab.data.cache import default_cache
from trimtab.data.corpus import Corpus, open_corpus
from trimtab.data.formats.pairs import PlainPairs
from trimtab.errors import InputError, Problem, input_error, reading
from trimtab.tasks.images.fonts import FontSet, open_fonts
from trimtab.tasks.images.pixels import load_image
from trimtab.tasks.images.rendering import render_line

LISTS = ("labels.tsv", "labels.jsonl", "labels.json", "rec_gt_train.txt", "rec_gt_val.txt")
"""Names of the list in a folder of images, in the order in which they are looked for."""
TEXT_BESIDE = ".gt.txt"
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""A lone surrogate, which JSON can write and UTF-8 cannot."""
MOST_NAMED = 10
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif", ".ppm", ".pgm", ".jp2")
FORMS = "a .tsv or .txt (path, tab, text), a .jsonl (image, text), a .json (docTR's labels), or images beside .gt.txt"


@dataclass(frozen=True, slots=True)
class ListedPairs(PlainPairs):
    """Pairs of an image and its text that are held in memory; see `data.formats.pairs.Pairs`."""

    path: Path
    images: tuple[str, ...]
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.images)

    @property
    def fingerprint(self) -> str:
        """sha256 of names and texts."""
        return hashlib.sha256(json.dumps([self.images, self.texts]).encode()).hexdigest()

    def pair(self, line: int) -> tuple[str, str]:
        """The image and its text."""
        return self.images[line], self.texts[line]

    def several(self, lines: Sequence[int]) -> Iterator[tuple[str, str]]:
        """What `pair` gives for each of these."""
        return map(self.pair, lines)

    def num_bytes(self, line: int) -> int:
        """0: known only when it is read."""
        return 0

    def longer_than(self, num_bytes: int) -> np.ndarray:
        """None."""
        return np.empty(0, np.int64)

    def place(self, line: int) -> str:
        """The image."""
        return str(
            self.path.parent / self.images[line] if self.path.is_file() else self.path / self.images[line]
        )


@dataclass(frozen=True)
class ImageCorpus:
    """Images with their texts, numbered from 0. Holds no image; may be pickled."""

    corpus: Corpus
    """A path, or a line to render, and its text."""
    folder: Path
    """Which the paths start from."""
    seed: int
    render: Rendering | None = None
    fonts: FontSet | None = None
    sizes_digest: str = ""
    """sha256 of the sizes of all image files, so that a resumed run sees that they have changed."""

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.corpus.name

    @property
    def weight(self) -> float:
        """Times its natural sampling rate."""
        return self.corpus.weight

    @property
    def is_reversed(self) -> bool:
        """Never."""
        return False

    @property
    def empty_documents(self) -> list[int]:
        """None: there are no documents."""
        return []

    @property
    def passed_over(self) -> dict[str, int]:
        """None: each line of a list is an example."""
        return {}

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the list, of the sizes of the images, and of how lines are rendered."""
        drawn = (
            "" if self.render is None or self.fonts is None else f"{self.render!r} {self.fonts.fingerprint}"
        )
        whole = f"{self.corpus.fingerprint} {self.sizes_digest} {drawn}"
        return hashlib.sha256(whole.encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.corpus)

    def pair(self, line: int) -> tuple[str, str]:
        """The path of the image, or `rendered`, and its text as the list has it."""
        image, text = self.corpus.pair(line)
        return ("rendered", text) if self.render else (str(self.path_of(image)), text)

    def path_of(self, image: str) -> Path:
        """Where an image of the list is: in the folder of the list, or in `images/` there, as docTR has them."""
        path = self.folder / image
        return path if path.exists() or Path(image).is_absolute() else self.folder / "images" / image

    def place(self, line: int) -> str:
        """File and line, or the image."""
        return self.corpus.place(line)

    def file_of(self, line: int) -> str:
        """The file of an image; empty for a line that is rendered."""
        return "" if self.render else self.pair(line)[0]

    def place_of_image(self, line: int) -> str:
        """File and line with the name of the image, or the image."""
        place, name = self.place(line), Path(self.pair(line)[0]).name
        return place if place.endswith(name) else f"{place}: {name}"

    def line_number(self, line: int) -> int:
        """The number of a line in its file, from 1."""
        return self.corpus.line_number(line)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Each text with its place."""
        lines = range(len(self))
        return (
            (text, self.place(line))
            for line, (_, text) in zip(lines, self.corpus.several(lines), strict=True)
        )

    def image(self, line: int, config: ImageConfig, rng: np.random.Generator) -> tuple[Any, str]:
        """The image of a line, upright and in the channels of the recipe but not yet of its size, and its text.

        Raises BadImage where it cannot be read, or drawn. What is drawn follows from `rng`.
        """
        image, text = self.corpus.pair(line)
        if self.render is None:
            return load_image(self.path_of(image), config), text
        assert self.fonts is not None
        return render_line(text, self.render, self.fonts, rng=rng, channels=config.channels), text


def open_images(
    files: TrainCorpus | ValidFiles, *, key: str, seed: int, normalization: str = "nfc", text: str = "text"
) -> ImageCorpus:
    """The images that a recipe names; `text` is the name of theirs in JSONL. InputError for a list that cannot be read,
    or with images that are not there."""
    try:
        if files.render is not None:
            fonts = open_fonts(files.render.fonts, key=f"{key}.render.fonts")
            corpus = open_corpus(files, root=Path.cwd(), cache=default_cache())
            return ImageCorpus(corpus, Path.cwd(), seed, files.render, fonts)
        assert files.images is not None, "other corpora are refused with the recipe"
        return _of_list(files, Path(files.images), seed=seed, text=text)
    except InputError as error:
        problems = (replace(each, what=f"{key}: {each.what}") for each in error.problems)
        raise InputError(*problems) from None


def _of_list(files: TrainCorpus | ValidFiles, given: Path, *, seed: int, text: str) -> ImageCorpus:
    with reading(given):
        given.stat()
    path = _list_in(given) if given.is_dir() else given
    weight = files.weight if isinstance(files, TrainCorpus) else 1.0
    name = files.name or given.stem
    if path is None or path.suffix == ".json":
        pairs = _beside(given) if path is None else _doctr(path)
        corpus = Corpus(name, pairs, weight=weight)
    else:
        columns = {"source": "image", "target": text} if _is_jsonl(path) else {"source": 1, "target": 2}
        told = TrainCorpus.model_validate({"pairs": str(path), "name": name, "weight": weight, **columns})
        corpus = open_corpus(told, root=Path.cwd(), cache=default_cache())
    opened = ImageCorpus(corpus, given if path is None else path.parent, seed)
    return replace(opened, sizes_digest=checked_sizes(opened))


def _is_jsonl(path: Path) -> bool:
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".xz", ".zst")]
    return bool(suffixes) and suffixes[-1] in (".jsonl", ".ndjson")


def _list_in(folder: Path) -> Path | None:
    return next((folder / name for name in LISTS if (folder / name).is_file()), None)


def _beside(folder: Path) -> ListedPairs:
    """Images of a folder with their texts in files beside them; InputError for images without a text, and the
    other way round."""
    with reading(folder):
        names = sorted(os.listdir(folder))
    images: dict[str, str] = {}
    for name in names:
        if Path(name).suffix.lower() in IMAGE_SUFFIXES and images.setdefault(Path(name).stem, name) != name:
            raise input_error(
                f"{folder}: two images share a text",
                got=f"{images[Path(name).stem]} and {name}",
                allowed="one image for each text",
                fix="rename or remove one of them",
            )
    texts = {name.removesuffix(TEXT_BESIDE): name for name in names if name.endswith(TEXT_BESIDE)}
    if not texts:
        raise input_error(
            f"{folder}: no list of images",
            got=f"{len(images):,} images and none of {', '.join(LISTS)}, nor a file whose name ends with .gt.txt",
            allowed=FORMS,
            fix="write a labels.tsv with the path of an image, a tab and its text on each line",
        )
    alone = sorted(images.keys() ^ texts.keys())
    if alone:
        raise InputError(*(_alone(folder, each, images, texts) for each in alone[:MOST_NAMED]))
    read = []
    for name in sorted(texts):
        with reading(folder / texts[name]):
            try:
                read.append((folder / texts[name]).read_text(encoding="utf-8-sig").rstrip("\r\n"))
            except UnicodeDecodeError as error:
                raise input_error(f"{folder / texts[name]}: is not UTF-8", got=str(error)) from None
    return ListedPairs(folder, tuple(images[name] for name in sorted(texts)), tuple(read))


def _alone(folder: Path, name: str, images: dict[str, str], texts: dict[str, str]) -> Problem:
    if name in images:
        return Problem(
            what=f"{folder / images[name]}: an image without a text",
            allowed=f"its text in {name}{TEXT_BESIDE}",
            fix="write the text, or take the image out of the folder",
        )
    return Problem(
        what=f"{folder / texts[name]}: a text without an image",
        allowed=f"{name}.png, or another of {', '.join(IMAGE_SUFFIXES)}",
        fix="put the image beside it, or remove the text",
    )


def _doctr(path: Path) -> ListedPairs:
    with reading(path):
        raw = path.read_bytes()
    try:
        told = json.loads(raw)
        sound = isinstance(told, dict) and all(isinstance(text, str) for text in told.values())
        sound = sound and not any(map(HALF_CHARACTER.search, told.values()))
    except (ValueError, RecursionError):
        told, sound = {}, False
    if not sound or not told:
        raise input_error(
            f"{path}: no labels of images",
            got=raw[:60].decode("utf-8", "replace"),
            allowed='a JSON object of image names and texts, such as {"img_1.png": "I am"}, as docTR has it',
            fix="write it in this form, or a labels.tsv",
        )
    return ListedPairs(path, tuple(told), tuple(told.values()))


def checked_sizes(corpus: ImageCorpus) -> str:
    """A digest of the sizes of the files; InputError with images that are not there, and how many they are."""
    digest, missing = hashlib.sha256(), 0
    named: list[Problem] = []
    lines = range(len(corpus))
    for line, (image, _) in zip(lines, corpus.corpus.several(lines), strict=True):
        try:
            digest.update(corpus.path_of(image).stat().st_size.to_bytes(8, "little"))
        except (OSError, ValueError) as error:
            missing += 1
            if len(named) < MOST_NAMED:
                said = getattr(error, "strerror", None) or str(error)
                named.append(Problem(what=f"{corpus.place(line)}: {image!r} cannot be found", got=said))
    if missing:
        first = replace(
            named[0],
            got=f"{named[0].got}; {missing:,} of {len(corpus):,} images are missing",
            allowed=f"a path that starts from {corpus.folder}, or from images/ in it",
            fix="correct the paths, or take the lines out of the list",
        )
        raise InputError(first, *named[1:])
    return digest.hexdigest()


def image_files(given: Sequence[Path]) -> list[Path]:
    """The images that are named, those of a folder in the order of their names; InputError for what does not exist, and
    for a folder without images."""
    found: list[Path] = []
    for path in given:
        if path.is_dir():
            with reading(path):
                # As `trimtab data render` and docTR have them.
                place = path / "images" if (path / "images").is_dir() else path
                inside = sorted(each for each in place.iterdir() if each.suffix.lower() in IMAGE_SUFFIXES)
            if not inside:
                raise input_error(
                    f"{path}: a folder without images",
                    got=str(path),
                    allowed=f"files of {', '.join(IMAGE_SUFFIXES)}",
                    fix="name the images",
                )
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise input_error(
                f"{path}: does not exist", got=str(path), allowed="an image", fix="correct the path"
            )
    return found

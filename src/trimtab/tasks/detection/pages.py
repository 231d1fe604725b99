"""Pages of text drawn as images, with a box around the ink of each line: what `trimtab data render --page` writes."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from trimtab.checkpoint.durable import replace_file
from trimtab.config.corpora import TrainCorpus
from trimtab.config.images import Rendering
from trimtab.data.order import random_stream
from trimtab.errors import input_error, reading
from trimtab.progress import Progress
from trimtab.tasks.images.fonts import FontSet
from trimtab.tasks.images.new_folder import check_new
from trimtab.tasks.images.rendering import on_paper
from trimtab.tasks.images.sources import ImageCorpus, open_images

CATEGORY = {"id": 1, "name": "line"}
SIDES = (64, 8192)
MOST_LINES = 200
"""Lines of a page at most."""
HEADING, GAP = 0.12, 0.2
"""Probability that a paragraph has a heading, and that a paragraph ends after a line."""
_PAGE = 7


class Page(NamedTuple):
    """A page that was drawn."""

    image: Image.Image
    boxes: list[tuple[int, int, int, int]]
    """Left, top, right and bottom of the ink of each line, in the order in which they are read."""


@dataclass(slots=True)
class Pen:
    """Where the next line of a column goes."""

    left: int
    right: int
    top: int
    bottom: int


def page_size(given: str) -> tuple[int, int]:
    """Width and height of `1280x720`; InputError for anything else."""
    parts = given.lower().split("x")
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        width, height = map(int, parts)
        if SIDES[0] <= width <= SIDES[1] and SIDES[0] <= height <= SIDES[1]:
            return width, height
    raise input_error(
        "--page: no size of a page",
        got=given,
        allowed=f"width x height in pixels, each {SIDES[0]} to {SIDES[1]:,}",
        fix="write it as in `--page 1280x720`",
    )


def draw_page(
    words: Iterator[str],
    fonts: FontSet,
    config: Rendering,
    *,
    size: tuple[int, int],
    rng: np.random.Generator,
) -> Page:
    """One page: one to three columns of paragraphs, some with a heading, in one font, size and color of ink. Words that
    its font lacks are passed over."""
    width, height = size
    ink = Image.new("L", size, 0)
    draw = ImageDraw.Draw(ink)
    number = int(rng.integers(len(fonts.paths)))
    points = int(rng.integers(max(8, min(size) // 60), max(10, min(size) // 24) + 1))
    step = round(points * rng.uniform(1.25, 1.9))
    boxes: list[tuple[int, int, int, int]] = []
    for pen in columns(width, height, points=points, rng=rng):
        while pen.top + step <= pen.bottom and len(boxes) < MOST_LINES:
            large = rng.random() < HEADING * GAP
            font = fonts.font(number, round(points * rng.uniform(1.3, 1.8)) if large else points)
            ends = rng.random() < GAP
            part = rng.uniform(0.25, 1) if ends else 1.0  # the last line of a paragraph is shorter
            line = line_of(words, fonts.covered[number], font, round((pen.right - pen.left) * part))
            box = draw.textbbox((pen.left, pen.top), line, font=font)
            if line and box[3] <= pen.bottom:
                draw.text((pen.left, pen.top), line, fill=255, font=font)
                boxes.append(tuple(round(side) for side in box))  # type: ignore[arg-type]
            pen.top += round((step + (font.size - points)) * (rng.uniform(1.4, 2.5) if ends else 1))
    return Page(on_paper(ink, config, rng=rng, channels="rgb"), boxes)


def columns(width: int, height: int, *, points: int, rng: np.random.Generator) -> Iterator[Pen]:
    """The columns of a page, from the left; each is at least 8 letters wide and may end early."""
    most = max(1, min(3, width // (points * 14)))
    count = int(rng.integers(1, most + 1))
    side, top = width * rng.uniform(0.03, 0.1), height * rng.uniform(0.03, 0.1)
    gutter = points * rng.uniform(1, 2.5)
    each = (width - 2 * side - (count - 1) * gutter) / count
    for number in range(count):
        left = side + number * (each + gutter)
        bottom = height - top - height * rng.uniform(0, 0.5) * (rng.random() < 0.4)
        yield Pen(round(left), round(left + each), round(top), round(bottom))


def line_of(words: Iterator[str], covered: frozenset[int], font: Any, width: int) -> str:
    """The words that fit into a line; the last one may be left out, where it is too long."""
    line = ""
    for word in words:
        if not word or not all(ord(letter) in covered for letter in word):
            continue
        longer = f"{line} {word}" if line else word
        if font.getlength(longer) > width:
            break
        line = longer
    return line


def words_of(corpus: ImageCorpus, start: int) -> Iterator[str]:
    """The words of a text from a line on, again from its beginning, without an end."""
    count = len(corpus)
    passed = 0
    for offset in range(10**9):
        words = corpus.pair((start + offset) % count)[1].split()
        passed = 0 if words else passed + 1
        if passed > count:
            return
        yield from words


@dataclass(frozen=True, slots=True)
class PageReport:
    """What was written."""

    folder: Path
    pages: int
    lines: int
    fonts: int

    def render(self) -> str:
        """A line for people."""
        return (
            f"{self.folder}: {self.pages:,} pages with {self.lines:,} lines by {self.fonts:,} fonts, and boxes.json in "
            "COCO's form"
        )


def write_pages(
    text: Path,
    out: Path,
    *,
    fonts: Sequence[str],
    sizes: Sequence[tuple[int, int]],
    count: int,
    seed: int,
    progress: Progress,
) -> PageReport:
    """Draws pages into `out/images/` and lists the boxes of their lines in `out/boxes.json`. Each page has one of the
    `sizes`. The same arguments give the same files with the same version of Pillow.

    Raises InputError for a folder that is not empty, a text that cannot be read or has no word, and fonts that are
    none."""
    check_new(out)
    config = Rendering(fonts=tuple(fonts))
    told = TrainCorpus.model_validate({"text": str(text), "render": config})
    corpus = open_images(told, key="TEXT", seed=seed, normalization="nfc")
    assert corpus.fonts is not None
    with reading(out):
        (out / "images").mkdir(parents=True)
    tree: dict[str, list[dict[str, Any]]] = {"images": [], "annotations": [], "categories": [CATEGORY]}
    for number in range(count):
        rng = random_stream(seed, number, _PAGE)
        size = sizes[int(rng.integers(len(sizes)))]
        words = words_of(corpus, int(rng.integers(len(corpus))))
        page = draw_page(words, corpus.fonts, config, size=size, rng=rng)
        _add(tree, page, number)
        page.image.save(out / "images" / f"{number:06d}.png")
        if number % 100 == 99:
            progress.message(f"{number + 1:,} of {count:,} pages")
    if not tree["annotations"]:
        raise input_error(
            f"{text}: no line could be drawn",
            got="no word that a font has the characters of",
            allowed="text in a script of the fonts",
            fix="name fonts for the script of the text",
        )
    replace_file(out / "boxes.json", json.dumps(tree).encode())
    return PageReport(out, count, len(tree["annotations"]), len(corpus.fonts.paths))


def _add(tree: dict[str, list[dict[str, Any]]], page: Page, number: int) -> None:
    width, height = page.image.size
    tree["images"].append(
        {"id": number + 1, "file_name": f"{number:06d}.png", "width": width, "height": height}
    )
    for left, top, right, bottom in page.boxes:
        wide, high = right - left, bottom - top
        tree["annotations"].append(
            {"id": len(tree["annotations"]) + 1, "image_id": number + 1, "category_id": CATEGORY["id"],
             "bbox": [left, top, wide, high], "area": wide * high, "iscrowd": 0}
        )  # fmt: skip

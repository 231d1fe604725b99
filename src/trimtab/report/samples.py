"""The same lines at each evaluation, with what has changed since the one before, and pictures of tasks on images."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, TypeVar

from trimtab.report.log_files import open_plain
from trimtab.report.run_data import RunData

T = TypeVar("T")

MOST_PICTURES = 4
MOST_OF_A_PICTURE = 150_000
"""Bytes. With MOST_PICTURES of them, in base64, a page stays under a megabyte."""
MOST_LINES = 12
MOST_TIMES = 12
"""Evaluations that are shown of a line: the first, the last, and those evenly between them."""
MOST_CHARACTERS = 600
MOST_WORDS = 400
"""Of a text that is compared word by word."""
INPUTS = ("source", "prompt", "text", "input")
TRUTHS = ("reference", "target", "label", "expected")
OUTPUTS = ("translation", "continuation", "output", "prediction", "generated", "predicted")
_NO_TEXT = {"step", "set", "line"}
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text."""

    text: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Output:
    """What the model wrote at a step."""

    step: int
    pieces: tuple[Piece, ...]
    is_same: bool
    """Whether nothing has changed since the evaluation before."""
    like_reference: float
    """0 to 1, by characters; -1 where there is no reference."""


@dataclass(frozen=True, slots=True)
class SampleLine:
    """One line of a validation set through time."""

    set: str
    line: str
    given: str
    reference: str
    outputs: tuple[Output, ...]
    """The newest first."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that an evaluation has drawn, such as a grid of samples."""

    step: int
    width: int
    height: int
    url: str
    """The image itself, as a `data:` URL."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of a run: of the first evaluation, of the last, and of some evenly between."""

    shown: tuple[Picture, ...]
    """The newest first."""
    num_drawn: int
    """How many the run folder has."""


def pictures_of(run: RunData) -> Pictures:
    """Pictures from the folder `samples` of the run. What is no PNG image, or larger than 150 kB, is left out."""
    found: list[Picture] = []
    for step, place in reversed(_spread(run.pictures, MOST_PICTURES)):
        file = open_plain(place)
        if file is None:
            continue
        with file:
            content = file.read(MOST_OF_A_PICTURE + 1)
        if len(content) <= MOST_OF_A_PICTURE and (size := _png_size(content)):
            url = f"data:image/png;base64,{base64.b64encode(content).decode()}"
            found.append(Picture(step, *size, url))
    return Pictures(tuple(found), len(run.pictures))


def _png_size(content: bytes) -> tuple[int, int] | None:
    """Width and height by the header of a PNG image (PNG specification, 11.2.1)."""
    if content[:8] != b"\x89PNG\r\n\x1a\n" or content[12:16] != b"IHDR" or len(content) < 24:
        return None
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    return (width, height) if 0 < width < 2**16 and 0 < height < 2**16 else None


def samples_of(run: RunData) -> list[SampleLine]:
    """The sample lines of a run. Texts are cut at 600 characters."""
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for number, each in enumerate(run.samples):
        place = str(each.get("line", each.get("index", _field(each, INPUTS) or number)))
        lines.setdefault((str(each.get("set", "")), place[:200]), []).append(each)
    return [_line(name, place, those) for (name, place), those in [*lines.items()][:MOST_LINES]]


def _line(name: str, place: str, those: Sequence[dict[str, Any]]) -> SampleLine:
    newest = those[-1]
    reference = _cut(_field(newest, TRUTHS))
    texts = [(_step(each), _cut(_output(each))) for each in _spread(those, MOST_TIMES)]
    outputs: list[Output] = []
    before: str | None = None
    for step, text in texts:
        pieces = changed(before, text) if before is not None else (Piece(text, False),)
        likeness = SequenceMatcher(None, text, reference, autojunk=False).ratio() if reference else -1.0
        outputs.append(Output(step, pieces, before == text, likeness))
        before = text
    shown = place if place.isdecimal() else ""
    return SampleLine(name, shown, _cut(_field(newest, INPUTS)), reference, tuple(reversed(outputs)))


def changed(before: str, after: str) -> tuple[Piece, ...]:
    """A text in pieces: those that the text before has too, and those that are new."""
    old, new = _WORD.findall(before)[:MOST_WORDS], _WORD.findall(after)[:MOST_WORDS]
    rest = after[sum(map(len, new)) :]
    found: list[Piece] = []
    for kind, _, _, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if text := "".join(new[begin:end]):
            found.append(Piece(text, kind != "equal" and bool(text.strip())))
    return (*found, *([Piece(rest, False)] if rest else []))


def _spread(those: Sequence[T], most: int) -> list[T]:
    """The first, the last, and some evenly between."""
    if len(those) <= most:
        return list(those)
    last = len(those) - 1
    return [those[round(number * last / (most - 1))] for number in range(most)]


def _output(record: dict[str, Any]) -> str:
    known = _field(record, OUTPUTS)
    if known or any(name in record for name in OUTPUTS):
        return known
    others = {**record}
    for name in (*INPUTS, *TRUTHS, *_NO_TEXT):
        others.pop(name, None)
    return next((value for value in others.values() if isinstance(value, str)), "")


def _field(record: dict[str, Any], names: Sequence[str]) -> str:
    return next((str(record[name]) for name in names if isinstance(record.get(name), str | int | float)), "")


def _step(record: dict[str, Any]) -> int:
    step = record.get("step")
    return step if isinstance(step, int) else 0


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} … ({len(text):,} characters)"

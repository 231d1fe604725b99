"""The same lines at each evaluation, with what has changed since the one before, and pictures of tasks on images."""

import base64
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, Literal, TypeVar

from trimtab.report.log_files import open_plain
from trimtab.report.run_data import RunData

T = TypeVar("T")
Comparison = Literal["text", "label", "none"]

MOST_PICTURES = 4
MOST_OF_A_PICTURE, MOST_OF_ALL = 150_000, 400_000
"""Bytes of one picture, and of all that a page shows: in base64, beside the curves of a long run, they leave it under a
megabyte."""
WIDTH_FROM, LARGEST_ZOOM = 480, 4
"""A picture is enlarged to at most so many pixels, by a whole number."""
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
_WITHOUT_SPACES = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
)
"""Ranges of characters whose languages put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han."""
_REMEMBERED = 4096
"""Comparisons of texts whose result a live page keeps."""


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
    judged: str
    """Beside the truth: characters in common in percent, or whether a label is right; empty where neither is known."""


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

    @property
    def zoom(self) -> int:
        """How many times as large it is shown: a grid of images of 16 pixels is hardly seen as it is."""
        return max(1, min(LARGEST_ZOOM, WIDTH_FROM // max(self.width, self.height)))


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of a run: of the first evaluation, of the last, and of some evenly between."""

    shown: tuple[Picture, ...]
    """The newest first."""
    num_drawn: int
    """How many the run folder has."""


def pictures_of(run: RunData, *, most_bytes: int = MOST_OF_ALL) -> Pictures:
    """Pictures from the folder `samples` of the run, the newest before all others. What is no PNG image, larger than
    150 kB, or beyond `most_bytes` together with those before it, is left out."""
    found: list[Picture] = []
    left = most_bytes
    for step, place in reversed(_spread(run.pictures, MOST_PICTURES)):
        file = open_plain(place)
        if file is None:
            continue
        with file:
            content = file.read(MOST_OF_A_PICTURE + 1)
        if len(content) <= min(MOST_OF_A_PICTURE, left) and (size := _png_size(content)):
            left -= len(content)
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
    compared = comparison_of(run)
    return [_line(name, place, those, compared) for (name, place), those in [*lines.items()][:MOST_LINES]]


def comparison_of(run: RunData) -> Comparison:
    """How outputs are compared with the truth: characters of a text, a label as a whole, boxes by their pictures."""
    task = run.task_facts
    if "labels" in task.metrics:
        return "label"
    return "none" if task.one_target else "text"


def _line(name: str, place: str, those: Sequence[dict[str, Any]], compared: Comparison) -> SampleLine:
    newest = those[-1]
    reference = _cut(_field(newest, TRUTHS))
    texts = [(_step(each), _cut(_output(each))) for each in _spread(those, MOST_TIMES)]
    outputs: list[Output] = []
    before: str | None = None
    for step, text in texts:
        pieces = changed(before, text) if before is not None else (Piece(text, False),)
        outputs.append(Output(step, pieces, before == text, _judged(text, reference, compared)))
        before = text
    shown = place if place.isdecimal() else ""
    return SampleLine(name, shown, _cut(_field(newest, INPUTS)), reference, tuple(reversed(outputs)))


def _judged(text: str, reference: str, compared: Comparison) -> str:
    if not reference or compared == "none":
        return ""
    if compared == "label":
        return "right" if text == reference else "wrong"
    return f"{likeness(text, reference):.0%}"


@lru_cache(_REMEMBERED)
def likeness(text: str, reference: str) -> float:
    """How much two texts have in common, 0 to 1, by characters."""
    return SequenceMatcher(None, text, reference, autojunk=False).ratio()


@lru_cache(_REMEMBERED)
def changed(before: str, after: str) -> tuple[Piece, ...]:
    """A text in pieces: those that the text before has too, and those that are new."""
    old, new = words_of(before)[:MOST_WORDS], words_of(after)[:MOST_WORDS]
    rest = after[sum(map(len, new)) :]
    found: list[Piece] = []
    for kind, _, _, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if text := "".join(new[begin:end]):
            found.append(Piece(text, kind != "equal" and bool(text.strip())))
    return (*found, *([Piece(rest, False)] if rest else []))


def words_of(text: str) -> list[str]:
    """A text cut into words, spaces and marks of punctuation. Of scripts without spaces each character is a word;
    an accent or a vowel sign stays with the letter before it."""
    found: list[str] = []
    before = ""
    for each in text:
        kind = _kind(each)
        if found and (kind == "accent" or (kind == before and kind in ("space", "letter"))):
            found[-1] += each
        else:
            found.append(each)
            before = kind
    return found


@lru_cache(_REMEMBERED)
def _kind(character: str) -> Literal["space", "accent", "letter", "word", "other"]:
    if character.isspace():
        return "space"
    if unicodedata.category(character) in ("Mn", "Mc", "Me") or character in "\u200c\u200d":
        return "accent"
    if not (character.isalnum() or character == "_"):
        return "other"
    return "word" if any(a <= ord(character) <= b for a, b in _WITHOUT_SPACES) else "letter"


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

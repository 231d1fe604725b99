"""How well lines of text are read in images: error rates, lines without an error, and lines that loop."""

import re

from trimtab.metrics.metric import ReadingMetric, Readings, edit_distance

LOOP = re.compile(r"(.{1,40}?)\1{2,}$", re.DOTALL)
LONGER = 1.5
"""A reading that loops is so many times as long as what is written there."""


def cer(given: Readings) -> float:
    """Character error rate: edits of all lines divided by the characters of all references, spaces included, so that a
    long line counts more than a short one; above 1 where more is invented than there is. NaN where the references have
    no character."""
    edits = sum(map(edit_distance, given.outputs, given.references))
    characters = sum(map(len, given.references))
    return edits / characters if characters else float("nan")


def wer(given: Readings) -> float:
    """Word error rate: edits of the words between spaces divided by the words of all references; says nothing of
    scripts without spaces. NaN where the references have no word."""
    pairs = [(one.split(), other.split()) for one, other in zip(given.outputs, given.references, strict=True)]
    words = sum(len(reference) for _, reference in pairs)
    return sum(edit_distance(*pair) for pair in pairs) / words if words else float("nan")


def exact(given: Readings) -> float:
    """The share of lines that are read without an error, from 0 to 1; NaN where there is no line."""
    right = sum(one == other for one, other in zip(given.outputs, given.references, strict=True))
    return right / len(given.references) if given.references else float("nan")


def loops(given: Readings) -> float:
    """The share of lines whose end is repeated again and again, as an attention decoder does that has lost its place;
    from 0 to 1, NaN where there is no line."""
    found = sum(map(is_loop, given.outputs, given.references))
    return found / len(given.references) if given.references else float("nan")


def is_loop(output: str, reference: str) -> bool:
    """Whether a reading ends with something three times in a row, and is far longer than its reference: a line of dots
    that is read as one does not count."""
    return len(output) > LONGER * len(reference) + 3 and LOOP.search(output) is not None


CER = ReadingMetric(
    name="cer", label="CER", about="character edits for each character of the reference", compute=cer
)
WER = ReadingMetric(name="wer", label="WER", about="word edits for each word of the reference", compute=wer)
EXACT = ReadingMetric(
    name="exact",
    label="exact",
    about="share of lines that are read without an error",
    compute=exact,
    lower_is_better=False,
)
LOOPS = ReadingMetric(
    name="loops", label="loops", about="share of lines whose end is repeated again and again", compute=loops
)

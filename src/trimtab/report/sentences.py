"""The newest evaluation line by line: worst and best, quality by length, and where the decoder looked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.metrics.catalogue import METRICS
from trimtab.report.plain_values import count, is_number, items, mapping, numbers, text
from trimtab.report.run_data import RunData

MOST_LINES, MOST_SHOWN = 2000, 8
MOST_MAPS, MOST_PIECES = 3, 40
FEWEST_OF_A_GROUP = 5
"""Lines of a range of lengths of which a mean is said."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A line with its text."""

    line: int
    score: float
    source: str
    output: str
    reference: str


@dataclass(frozen=True, slots=True)
class LengthGroup:
    """The lines of a range of lengths."""

    words: str
    lines: int
    mean: float


@dataclass(frozen=True, slots=True)
class AttentionMap:
    """Where the decoder looked in one sentence."""

    source: Sequence[str]
    target: Sequence[str]
    percent: Sequence[Sequence[float]]
    """A row for each piece of the target, a number for each piece of the source."""

    @property
    def said(self) -> str:
        """The strongest link of each piece of the target, for those who do not see the picture."""
        best = [max(range(len(row)), key=row.__getitem__) for row in self.percent]
        return "; ".join(
            f"{target} looks at {self.source[at]} ({row[at]:.0f}%)"
            for target, at, row in zip(self.target, best, self.percent, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Sentences:
    """What is known of the lines of a set at an evaluation."""

    step: int
    set: str
    metric: str
    """The label of what the lines are scored by."""
    unit: str
    """Of their length: `words` or `characters`."""
    made: str
    """What the model made of a line: `translation` or `output`."""
    points: Sequence[tuple[float, float]]
    """Words of the source and score of each line."""
    groups: Sequence[LengthGroup]
    worst: Sequence[Scored]
    best: Sequence[Scored]
    maps: Sequence[AttentionMap]

    @property
    def longest(self) -> float:
        """The longest source, at least one word."""
        return max(1.0, *(words for words, _ in self.points)) if self.points else 1.0


def sentences_of(run: RunData) -> Sentences | None:
    """The newest evaluation; None for a run without one."""
    if not run.sentences:
        return None
    newest = run.sentences[-1]
    pairs = zip(
        numbers(newest.get("words"), MOST_LINES), numbers(newest.get("scores"), MOST_LINES), strict=False
    )
    points = [(max(0.0, words), min(100.0, max(0.0, score))) for words, score in pairs]
    return Sentences(
        step=count(newest.get("step")),
        set=text(newest.get("set"), 200),
        metric=_label_of(text(newest.get("metric"), 40)),
        unit=text(newest.get("unit"), 20) or "words",
        made="translation" if newest.get("metric") == "chrf" else "output",
        points=points,
        groups=groups_of(points),
        worst=[_scored(each) for each in items(newest.get("worst"), MOST_SHOWN)],
        best=[_scored(each) for each in items(newest.get("best"), MOST_SHOWN)],
        maps=[
            found for each in items(newest.get("attention"), MOST_MAPS) if (found := _map(each)) is not None
        ],
    )


def _label_of(metric: str) -> str:
    return next((each.label for each in METRICS if each.name == metric), metric)


def groups_of(points: Sequence[tuple[float, float]]) -> list[LengthGroup]:
    """Mean scores of up to five ranges of length with as many lines each; lines of one length stay together."""
    ordered, found, begin = sorted(points), list[LengthGroup](), 0
    size = max(FEWEST_OF_A_GROUP, -(-len(ordered) // 5))
    while begin < len(ordered):
        end = min(begin + size, len(ordered))
        while end < len(ordered) and (
            ordered[end][0] == ordered[end - 1][0] or len(ordered) - end < FEWEST_OF_A_GROUP
        ):
            end += 1
        few = ordered[begin:end]
        low, high = few[0][0], few[-1][0]
        words = f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
        found.append(LengthGroup(words, len(few), sum(score for _, score in few) / len(few)))
        begin = end
    return found


def _scored(record: Any) -> Scored:
    known = mapping(record)
    score = known.get("score")
    return Scored(
        count(known.get("line")),
        float(score) if is_number(score) else 0.0,
        text(known.get("source")),
        text(known.get("output", known.get("translation"))),
        text(known.get("reference")),
    )


def _map(record: Any) -> AttentionMap | None:
    known = mapping(record)
    source, target = (
        [text(each, 40) for each in items(known.get(name), MOST_PIECES)] for name in ("source", "target")
    )
    rows = [numbers(row, MOST_PIECES) for row in items(known.get("percent"), MOST_PIECES)]
    if not source or not target or len(rows) != len(target) or any(len(row) != len(source) for row in rows):
        return None
    return AttentionMap(source, target, [[min(100.0, max(0.0, each)) for each in row] for row in rows])

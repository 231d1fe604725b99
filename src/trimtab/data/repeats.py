"""Lines that repeat earlier ones, and lines of a validation set that are trained on, found by digests of their text.

A corpus of ten million lines needs 80 MB for each of the arrays that are compared, three of them at a time, beside
the scan itself.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt64

from trimtab.data.scan import Scan

MOST_GROUPS = 5
MOST_LINES = 3


@dataclass(frozen=True, slots=True)
class Group:
    """A pair that a corpus has several times."""

    count: int
    lines: tuple[int, ...]
    """The first ones, from 1."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many lines repeat an earlier one of the same corpus."""

    lines: int
    """Lines that were compared."""
    source: int
    target: int
    pair: int
    loose_pair: int
    """Pairs that are the same but for case, punctuation, spaces and digits."""
    groups: tuple[Group, ...]
    """The pairs that stand there most often."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Lines of a validation set that are in a training corpus too."""

    valid: str
    train: str
    lines: int
    """Of the validation set."""
    source: int
    pair: int
    loose_source: int
    """The same but for case, punctuation, spaces and digits."""
    loose_pair: int
    places: tuple[tuple[int, int], ...]
    """The first ones by their pairs: line of the validation set, line of the corpus, from 1."""


def find_repeats(scan: Scan) -> Repeats:
    """Of the lines that were scanned."""
    pair = scan.pair
    return Repeats(
        lines=len(scan),
        source=_num_repeated(scan.source),
        target=_num_repeated(scan.target),
        pair=_num_repeated(pair),
        loose_pair=_num_repeated(scan.loose_pair),
        groups=_groups(pair, scan.line),
    )


def find_shared(valid: Scan, train: Scan, *, names: tuple[str, str]) -> Shared:
    """Lines of `valid` that are among those of `train`; `names` are what the two are called."""
    pair = np.isin(valid.pair, train.pair)
    return Shared(
        *names,
        lines=len(valid),
        source=int(np.isin(valid.source, train.source).sum()),
        pair=int(pair.sum()),
        loose_source=int(np.isin(valid.loose_source, train.loose_source).sum()),
        loose_pair=int(np.isin(valid.loose_pair, train.loose_pair).sum()),
        places=tuple(
            (
                int(valid.line[number]) + 1,
                int(train.line[np.argmax(train.pair == valid.pair[number])]) + 1,
            )
            for number in np.flatnonzero(pair)[:MOST_LINES].tolist()
        ),
    )


def _num_repeated(digests: UInt64[np.ndarray, "lines"]) -> int:
    return len(digests) - len(np.unique(digests))


def _groups(digests: UInt64[np.ndarray, "lines"], line: np.ndarray) -> tuple[Group, ...]:
    values, counts = np.unique(digests, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:MOST_GROUPS]
    found = [
        Group(int(counts[place]), tuple((line[digests == values[place]][:MOST_LINES] + 1).tolist()))
        for place in top.tolist()
        if counts[place] > 1
    ]
    return tuple(sorted(found, key=lambda group: (-group.count, group.lines)))

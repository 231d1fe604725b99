"""Pairs of validation sets that are in a training corpus too, compared as they are.

For a look before a run: only the pairs of the sets are held, and of the corpus nothing. `find_shared` says more (sides
alone, texts but for case and punctuation), and needs a scan of both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trimtab.data.repeats import MOST_LINES

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SharedPairs:
    """Pairs of a validation set that are in a corpus too."""

    valid: str
    train: str
    lines: int
    """Of the validation set that were looked for."""
    pair: int
    """How many of them stand there."""
    places: tuple[tuple[int, int], ...]
    """The first ones: line of the validation set, first line of the corpus, from 1."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Pairs of a validation set, with their lines from 0."""

    name: str
    lines: Sequence[int]
    pairs: Sequence[Pair]


def find_shared_pairs(
    held: Sequence[HeldOut], *, train: str, pairs: Iterable[tuple[int, Pair]]
) -> list[SharedPairs]:
    """For each set which of its pairs are among those of a corpus called `train`, that come with their lines from 0."""
    wanted = {pair for each in held for pair in each.pairs}
    sources = {source for source, _ in wanted}
    at: dict[Pair, int] = {}
    for line, pair in pairs:
        # Most sources are in no set, and two texts are hashed for a pair.
        if pair[0] in sources and pair in wanted:
            at.setdefault(pair, line)
    return [_shared(each, at, train=train) for each in held]


def _shared(held: HeldOut, at: dict[Pair, int], *, train: str) -> SharedPairs:
    places = [
        (line + 1, at[pair] + 1) for line, pair in zip(held.lines, held.pairs, strict=True) if pair in at
    ]
    return SharedPairs(held.name, train, len(held.pairs), len(places), tuple(places[:MOST_LINES]))

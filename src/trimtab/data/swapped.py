"""Finds a corpus whose source and target files are swapped, by comparison with another one."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.data.scan import ReadsPairs

_SAMPLE_LINES = 1000
_LEAST_LINES = 20
_LEAST_GAIN = 0.2
"""By which both sides together must be more alike the other way round, of at most 2."""

Profile = Counter[str]
"""How often each character trigram occurs in a text."""


@dataclass(frozen=True, slots=True)
class Swapped:
    """A corpus that fits another one with its sides exchanged."""

    name: str
    other: str


def profiles(corpus: ReadsPairs) -> tuple[Profile, Profile]:
    """Source and target of a sample spread over the corpus."""
    sides = Counter[str](), Counter[str]()
    count = min(len(corpus), _SAMPLE_LINES)
    for pair in corpus.several([number * len(corpus) // count for number in range(count)]):
        for side, text in zip(sides, pair, strict=True):
            padded = f" {text.casefold()} "
            side.update(padded[start : start + 3] for start in range(len(padded) - 2))
    return sides


def is_swapped(ours: tuple[Profile, Profile], theirs: tuple[Profile, Profile]) -> bool:
    """Whether each side is clearly more like the other corpus's other side.

    Source: language identification by n-grams, Cavnar & Trenkle 1994, with cosines in place of ranks.
    """
    straight = similarity(ours[0], theirs[0]) + similarity(ours[1], theirs[1])
    crossed = similarity(ours[0], theirs[1]) + similarity(ours[1], theirs[0])
    return crossed - straight >= _LEAST_GAIN


def similarity(left: Profile, right: Profile) -> float:
    """The cosine of the angle between two profiles; 0 where one is empty."""
    product = sum(count * right[key] for key, count in left.items())
    size = math.sqrt(sum(each**2 for each in left.values()) * sum(each**2 for each in right.values()))
    return product / size if size else 0.0


def find_swapped(corpora: Sequence[tuple[str, tuple[str, ...], ReadsPairs]]) -> list[Swapped]:
    """Those of the corpora (name, tags, pairs) that are the other way round than the first with the same tags.

    Corpora in both directions, or of several language pairs, must have tags that say so, and are compared with those
    of their own tags only.
    """
    first: dict[tuple[str, ...], tuple[str, tuple[Profile, Profile]]] = {}
    found: list[Swapped] = []
    for name, tags, corpus in corpora:
        if len(corpus) < _LEAST_LINES:
            continue
        own = profiles(corpus)
        other, theirs = first.setdefault(tags, (name, own))
        if is_swapped(own, theirs):
            found.append(Swapped(name, other))
    return found

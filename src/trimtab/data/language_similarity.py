"""Similarity of languages by the character n-grams of their texts, and groups of similar ones."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from trimtab.data.lines import Lines

WORD = re.compile(r"[^\W\d_]+")
ASCII = re.compile(r"[a-z]+")
LINES = 2000
"""Lines of each text that are read, evenly spaced."""
ORDERS = (1, 2, 3)
"""Characters of a sequence: single ones tell scripts apart, longer ones the languages of a script."""


def profile(texts: Iterable[Lines]) -> dict[str, float]:
    """How often each sequence of one to three characters occurs in the words of some texts, as a vector of length 1.
    ASCII names in a text of another script are left out.

    Source: Cavnar and Trenkle 1994, "N-Gram-Based Text Categorization", with weights in place of ranks.
    """
    words: Counter[str] = Counter()
    for lines in texts:
        stride = max(1, len(lines) // LINES)
        for number in range(0, len(lines), stride):
            words.update(WORD.findall(lines[number].decode(errors="ignore").lower()))
    letters = sum(len(word) * count for word, count in words.items())
    own = sum(len(ASCII.sub("", word)) * count for word, count in words.items())
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for part in ASCII.sub(" ", word).split() if 2 * own > letters else [word]:
            for order in ORDERS:
                padded = f" {part} " if order > 1 else part
                for start in range(len(padded) - order + 1):
                    counts[padded[start : start + order]] += count
    weights = {each: math.sqrt(count) for each, count in counts.items()}
    norm = math.sqrt(math.fsum(weight * weight for weight in weights.values())) or 1.0
    return {each: weight / norm for each, weight in weights.items()}


def similarity(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """The cosine of two profiles, from 0 to 1."""
    if len(one) > len(other):
        one, other = other, one
    return math.fsum(weight * other.get(each, 0.0) for each, weight in one.items())


def grouped(profiles: Mapping[str, Mapping[str, float]], count: int) -> list[tuple[str, ...]]:
    """The languages in `count` groups, by average linkage: the two groups with the highest mean similarity are merged
    until `count` are left. Groups and languages keep their order."""
    names = list(profiles)
    alike = {
        (one, other): similarity(profiles[one], profiles[other])
        for number, one in enumerate(names)
        for other in names[number + 1 :]
    }
    groups: list[tuple[str, ...]] = [(name,) for name in names]
    while len(groups) > max(1, count):
        pairs = [(i, j) for i in range(len(groups)) for j in range(i + 1, len(groups))]
        first, second = max(pairs, key=lambda pair: _mean(alike, groups[pair[0]], groups[pair[1]]))
        joined = tuple(sorted((*groups[first], *groups[second]), key=names.index))
        groups[first] = joined
        del groups[second]
    return groups


def _mean(alike: Mapping[tuple[str, str], float], group: tuple[str, ...], other: tuple[str, ...]) -> float:
    between = [alike.get((one, two), alike.get((two, one), 0.0)) for one in group for two in other]
    return math.fsum(between) / len(between)

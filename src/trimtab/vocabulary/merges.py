"""New pieces for a vocabulary that exists: byte-pair encoding continued from the pieces that it makes of a text.

Each new piece joins two neighbours of the old split, so it is reachable where it was found; pieces that are trained
apart and appended often are not (arXiv 2512.03989).
"""

import heapq
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

LEAST_COUNT = 2
"""A pair that occurs once is no piece."""
LONGEST = 16
"""Characters of a piece at most, as sentencepiece has it by default."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A piece that joins two others."""

    left: str
    right: str
    piece: str
    count: int
    """How often the pair occurred when it was joined."""


def continued_merges(
    words: Mapping[tuple[str, ...], int],
    *,
    number: int,
    join: Callable[[str, str], str],
    known: Collection[str],
    allowed: Callable[[str], bool],
) -> list[Merge]:
    """The `number` most frequent joins, one after another, of words that are given as the pieces they are split into
    and how often they occur; fewer where nothing occurs twice any more. Joins that give a `known` piece are left out,
    as are those that are not `allowed`."""
    pieces = [[*word] for word in words]
    counts = [*words.values()]
    pairs: Counter[tuple[str, str]] = Counter()
    where: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for number_, word in enumerate(pieces):
        for pair in pairwise(word):
            pairs[pair] += counts[number_]
            where[pair].add(number_)
    taken = {*known}
    queue = [(-count, pair) for pair, count in pairs.items() if count >= LEAST_COUNT]
    heapq.heapify(queue)
    merges: list[Merge] = []
    while queue and len(merges) < number:
        count, pair = heapq.heappop(queue)
        if pairs[pair] != -count:
            if pairs[pair] >= LEAST_COUNT:
                heapq.heappush(queue, (-pairs[pair], pair))
            continue
        piece = join(*pair)
        if piece in taken or not allowed(piece):
            continue
        taken.add(piece)
        merges.append(Merge(*pair, piece, -count))
        changed: set[tuple[str, str]] = set()
        for at in sorted(where[pair]):
            changed |= _joined(pieces[at], pair, piece, at=at, count=counts[at], pairs=pairs, where=where)
        for each in sorted(changed):
            if pairs[each] >= LEAST_COUNT:
                heapq.heappush(queue, (-pairs[each], each))
    return merges


def _joined(
    word: list[str],
    pair: tuple[str, str],
    piece: str,
    *,
    at: int,
    count: int,
    pairs: Counter[tuple[str, str]],
    where: Mapping[tuple[str, str], set[int]],
) -> set[tuple[str, str]]:
    """Joins a pair in one word and counts its pairs again; the pairs that became more frequent."""
    before = [*pairwise(word)]
    place = 0
    while place < len(word) - 1:
        if (word[place], word[place + 1]) == pair:
            word[place : place + 2] = [piece]
        place += 1
    for each in before:
        pairs[each] -= count
    more: set[tuple[str, str]] = set()
    for each in pairwise(word):
        pairs[each] += count
        where[each].add(at)
        more.add(each)
    return more


def one_kind(piece: str, *, signs: str = "▁") -> bool:
    """Whether a piece is all letters, or all digits, or neither, leaving out signs for spaces; and short enough."""
    kinds = {_kind(each) for each in piece.strip(signs)}
    return len(kinds) <= 1 and len(piece) <= LONGEST


def _kind(character: str) -> str:
    # Marks are parts of letters in many scripts.
    return {"L": "letter", "M": "letter", "N": "digit"}.get(unicodedata.category(character)[0], "other")

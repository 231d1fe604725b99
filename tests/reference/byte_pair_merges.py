"""Byte pair encoding in the obvious way: count all pairs, merge the most frequent one everywhere, and again."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

Pair = tuple[int, int]


def merged(row: Sequence[int], pair: Pair, new: int) -> list[int]:
    """A row with every occurrence of a pair, from the left, as a new piece."""
    out: list[int] = []
    place = 0
    while place < len(row):
        if tuple(row[place : place + 2]) == pair:
            out.append(new)
            place += 2
        else:
            out.append(row[place])
            place += 1
    return out


def plain_merges(
    rows: Sequence[Sequence[int]],
    counts: Sequence[int],
    pieces: list[bytes],
    num_merges: int,
    *,
    may_merge: Callable[[bytes], bool],
    least_count: int = 2,
) -> list[Pair]:
    """As `trimtab.data.pair_merges.learn_merges`; a pair counts as often as it would be merged."""
    rows, merges = [list(row) for row in rows], []
    for _ in range(num_merges):
        found: Counter[Pair] = Counter()
        for row, count in zip(rows, counts, strict=True):
            for pair in set(pairwise(row)):
                found[pair] += (len(row) - len(merged(row, pair, -1))) * count
        allowed = [
            (-count, pair)
            for pair, count in found.items()
            if count >= least_count
            and pieces[pair[0]] + pieces[pair[1]] not in pieces
            and may_merge(pieces[pair[0]] + pieces[pair[1]])
        ]
        if not allowed:
            break
        _, best = min(allowed)
        rows = [merged(row, best, len(pieces)) for row in rows]
        pieces.append(pieces[best[0]] + pieces[best[1]])
        merges.append(best)
    return merges


def encoded(text: bytes, merges: Sequence[Pair]) -> list[int]:
    """A text by all merges in their order, ids of bytes first."""
    row = list(text)
    for number, pair in enumerate(merges):
        row = merged(row, pair, 256 + number)
    return row

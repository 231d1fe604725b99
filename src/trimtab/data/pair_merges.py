"""Learns the merges of byte pair encoding from texts with their counts, on arrays of numpy.

Source: Sennrich et al. 2016, arXiv 1508.07909, algorithm 1; which pairs may merge is asked of a function, so that the
two stages of SuperBPE (`byte_level_bpe.py`) are two calls.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

END = -1
"""In place of a piece, behind each text."""
GONE = -2
"""In place of a piece that has been merged into the one before it."""
_BITS = 32
_MASK = (1 << _BITS) - 1
_SPARE = 3
"""Pairs that are kept at hand, for each merge that is still to come; rarer ones are counted again when they matter."""


@dataclass(frozen=True, slots=True)
class Segmented:
    """Different texts as pieces, and how often each of them occurs."""

    pieces: np.ndarray
    """The pieces of all texts behind each other, `END` behind each text, int32."""
    counts: np.ndarray
    """How often the text occurs that a place belongs to, int64."""

    @classmethod
    def of(cls, rows: np.ndarray, lengths: np.ndarray, counts: Sequence[int] | np.ndarray) -> "Segmented":
        """`rows` are the pieces of all texts behind each other, without anything between them."""
        pieces = np.full(len(rows) + len(lengths), END, np.int32)
        ends = np.cumsum(lengths + 1) - 1
        inside = np.ones(len(pieces), bool)
        inside[ends] = False
        pieces[inside] = rows
        return cls(pieces, np.repeat(np.asarray(counts, np.int64), lengths + 1))

    @classmethod
    def of_bytes(cls, texts: Sequence[bytes], counts: Sequence[int]) -> "Segmented":
        """Each text as its bytes, which are the first 256 pieces."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return cls.of(np.frombuffer(b"".join(texts), np.uint8), lengths, counts)


def learn_merges(
    texts: Segmented,
    pieces: list[bytes],
    num_merges: int,
    *,
    may_merge: Callable[[bytes], bool],
    least_count: int = 2,
) -> list[tuple[int, int]]:
    """Merges the most frequent pair of neighbours into a new piece, `num_merges` times or until no pair occurs
    `least_count` times; appends the new pieces to `pieces`, by which ids are numbered, and returns the pairs.

    Of pairs that are equally frequent the one with the lower ids comes first, so the result follows from the texts
    alone. A pair whose bytes are a piece already is left as it is: each piece then has one merge, and any encoder that
    applies the merges in their order splits the texts as they are split here. In a run of one piece every second pair
    counts. `may_merge` gets the bytes of a pair.
    """
    return _Training(texts, pieces, may_merge, least_count).run(num_merges) if num_merges > 0 else []


@dataclass(slots=True)
class _Training:
    """Texts as a linked list on arrays, and the places of each frequent pair.

    A pair is counted when it comes into being, and again when it is about to be merged: in between its count can only
    fall, so the count that was is an upper bound, and the best of the heap is the best of all once its count is found
    to be right. No neighbour ever has to be subtracted.
    """

    texts: Segmented
    pieces: list[bytes]
    may_merge: Callable[[bytes], bool]
    least_count: int
    piece: np.ndarray = field(init=False)
    after: np.ndarray = field(init=False)
    before: np.ndarray = field(init=False)
    count: np.ndarray = field(init=False)
    places: dict[int, np.ndarray] = field(default_factory=dict)
    """Of each pair that is at hand; some of them may be none any more."""
    heap: list[tuple[int, int]] = field(default_factory=list)
    """Of them, the count with a minus sign, and the pair."""
    floor: int = 0
    """Pairs of a lower count are not at hand."""
    known: set[bytes] = field(default_factory=set)

    def run(self, num_merges: int) -> list[tuple[int, int]]:
        self.known = set(self.pieces)
        self.piece, self.count = self.texts.pieces, self.texts.counts
        self._index(num_merges)
        merges: list[tuple[int, int]] = []
        while len(merges) < num_merges:
            found = self._best()
            if found is None:
                if self.floor <= self.least_count:
                    break
                self._index(num_merges - len(merges))
                continue
            pair, places = found
            merges.append((pair >> _BITS, pair & _MASK))
            self._merge(pair, places)
        return merges

    def _index(self, num_merges: int) -> None:
        """Closes the gaps, and takes the most frequent pairs at hand."""
        kept = self.piece != GONE
        self.piece, self.count = self.piece[kept], self.count[kept]
        size = len(self.piece)
        self.after = np.arange(1, size + 1, dtype=np.int32)
        self.before = np.arange(-1, size - 1, dtype=np.int32)
        left, right = self.piece[:-1], self.piece[1:]
        places = np.flatnonzero((left >= 0) & (right >= 0)).astype(np.int32)
        places = places[self._order(right[places])]
        places = places[self._order(left[places])]
        keys = left[places].astype(np.int64) << _BITS | right[places]
        starts = _starts(keys)
        # An upper bound, which is exact but for a run of one piece.
        counts = np.add.reduceat(self.count[places], starts) if len(starts) else np.zeros(0, np.int64)
        wanted = _SPARE * num_merges
        most = int(np.partition(counts, -wanted)[-wanted]) if len(counts) > wanted else 0
        # Lower than before, so that each time more is at hand.
        self.floor = max(self.least_count, min(most, self.floor // 2) if self.floor else most)
        stops = [*starts[1:].tolist(), len(keys)]
        some = np.flatnonzero(counts >= self.floor)
        self.places, self.heap = {}, []
        for number in some.tolist():
            pair = int(keys[starts[number]])
            # A copy, so that the array of all pairs can go.
            self.places[pair] = places[starts[number] : stops[number]].copy()
            self.heap.append((-int(counts[number]), pair))
        heapq.heapify(self.heap)

    def _best(self) -> tuple[int, np.ndarray] | None:
        """The pair to merge and the places of its first halves; None if none at hand is frequent enough."""
        while self.heap and -self.heap[0][0] >= self.floor:
            bound, pair = self.heap[0]
            merged = self.pieces[pair >> _BITS] + self.pieces[pair & _MASK]
            if merged in self.known or not self.may_merge(merged):
                heapq.heappop(self.heap)
                del self.places[pair]
                continue
            # Of a run all places are kept: which of them merge depends on where it begins by then.
            places = self._now(pair, self.places[pair])
            merging = self._apart(places) if pair >> _BITS == pair & _MASK else places
            count = int(self.count[merging].sum())
            if count == -bound:
                heapq.heappop(self.heap)
                del self.places[pair]
                return pair, merging
            if count < self.floor:
                heapq.heappop(self.heap)
                del self.places[pair]
            else:
                self.places[pair] = places
                heapq.heapreplace(self.heap, (-count, pair))
        return None

    def _now(self, pair: int, places: np.ndarray) -> np.ndarray:
        """Those of the places where the pair still is."""
        left, right = pair >> _BITS, pair & _MASK
        places = places[self.piece[places] == left]
        return places[self.piece[self.after[places]] == right]

    def _apart(self, places: np.ndarray) -> np.ndarray:
        """Every second place of each run of one piece, from its first one."""
        if len(places) < 2:
            return places
        numbers = np.arange(len(places))
        begins = np.append(True, places[1:] != self.after[places[:-1]])
        return places[(numbers - np.maximum.accumulate(np.where(begins, numbers, 0))) % 2 == 0]

    def _merge(self, pair: int, places: np.ndarray) -> None:
        """Makes one piece of the pair at these places, and takes at hand what pairs it forms."""
        new = len(self.pieces)
        merged = self.pieces[pair >> _BITS] + self.pieces[pair & _MASK]
        self.pieces.append(merged)
        self.known.add(merged)
        second = self.after[places]
        behind = self.after[second]
        self.piece[places], self.piece[second] = new, GONE
        self.after[places] = behind
        self.before[behind] = places
        ahead = self.before[places]
        # Before the first text there is nothing, and -1 is the end of the last one, which is `END` too.
        left, right = self.piece[ahead], self.piece[behind]
        some = left >= 0
        self._take(left[some], ahead[some], lambda neighbour: neighbour << _BITS | new)
        some = (right >= 0) & (right != new)  # of two new ones the pair is the left one's of the second
        self._take(right[some], places[some], lambda neighbour: new << _BITS | neighbour)

    def _take(self, neighbours: np.ndarray, places: np.ndarray, pair_of: Callable[[int], int]) -> None:
        """Takes the pairs of the new piece with its neighbours at hand, as far as they are frequent enough."""
        if not len(neighbours):
            return
        order = self._order(neighbours)
        neighbours, places = neighbours[order], places[order]
        starts = _starts(neighbours)
        counts = np.add.reduceat(self.count[places], starts)
        stops = [*starts[1:].tolist(), len(neighbours)]
        for number in np.flatnonzero(counts >= self.floor).tolist():
            pair = pair_of(int(neighbours[starts[number]]))
            self.places[pair] = places[starts[number] : stops[number]]
            heapq.heappush(self.heap, (-int(counts[number]), pair))

    def _order(self, pieces: np.ndarray) -> np.ndarray:
        """The places of pieces by their ids, equal ones as they are; of 16 bits numpy sorts them by radix."""
        small = pieces.astype(np.uint16) if len(self.pieces) <= 1 << 16 else pieces
        return np.argsort(small, kind="stable")


def _starts(keys: np.ndarray) -> np.ndarray:
    """Where each different one of sorted keys begins."""
    if not len(keys):
        return np.zeros(0, np.int64)
    changes = np.empty(len(keys), bool)
    changes[0] = True
    np.not_equal(keys[1:], keys[:-1], out=changes[1:])
    return np.flatnonzero(changes)

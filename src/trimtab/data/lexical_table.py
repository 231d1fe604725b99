"""Which target pieces each source piece is translated by: IBM Model 1, estimated from pairs of rows of ids."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trimtab.types import Ragged

ITERATIONS = 5
PAIRS_AT_ONCE = 2**22
"""Pairs of a source and a target token that are held at once, besides four bytes for each of all of them."""


@dataclass(frozen=True, slots=True)
class LexicalTable:
    """p(target id | source id) of all ids that occur in a pair together, source by source.

    The entries of source id i are those from `offsets[i]` to `offsets[i + 1]`; the last source is none at all, the word
    by which a target is explained that no word of the source explains.
    """

    offsets: np.ndarray
    """int64, one more than there are sources."""
    targets: np.ndarray
    """int32, rising for each source."""
    probabilities: np.ndarray
    """float64; those of a source sum to 1."""

    def best(self, count: int, *, least: float = 0.0) -> Ragged:
        """For each source id, the null word left out, its likeliest `count` target ids, likeliest first, none of them
        less likely than `least`; of equally likely ones the smaller id comes first."""
        sources = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        order = np.lexsort((self.targets, -self.probabilities, sources))
        rank = np.arange(len(order)) - self.offsets[sources]
        kept = (rank < count) & (self.probabilities[order] >= least)
        kept &= sources < len(self.offsets) - 2
        counts = np.bincount(sources[kept], minlength=len(self.offsets) - 2)
        return Ragged(self.targets[order[kept]].astype(np.int32), np.concatenate([[0], np.cumsum(counts)]))


def estimate_lexical_table(
    source: Ragged, target: Ragged, *, num_source_ids: int, num_target_ids: int, iterations: int = ITERATIONS
) -> LexicalTable:
    """IBM Model 1 of rows of ids and their translations, by expectation maximization from equal probabilities.

    Each target token is explained by one token of its source or by the null word. Costs about a second for each ten
    million pairs of tokens and iteration, and ten bytes for each of them. Source: Brown et al. 1993, J93-2003,
    section 4.1.
    """
    assert len(source) == len(target), (len(source), len(target))
    found = [_numbered(block, num_target_ids) for block in _blocks(source, target, null=num_source_ids)]
    keys = np.unique(np.concatenate([own for own, *_ in found] or [np.empty(0, np.int64)]))
    # Which entry each pair of tokens is, block by block; what the block had is given up at once.
    entries: list[np.ndarray] = []
    lengths: list[np.ndarray] = []
    for place, (own, numbers, length) in enumerate(found):
        entries.append(np.searchsorted(keys, own).astype(np.int32)[numbers])
        lengths.append(length)
        found[place] = (own[:0], numbers[:0], length)
    sources = keys // num_target_ids
    probabilities = np.ones(len(keys))
    for _ in range(iterations):
        counts = np.zeros(len(keys))
        for entry, length in zip(entries, lengths, strict=True):
            likely = probabilities[entry]
            totals = np.add.reduceat(likely, np.cumsum(length) - length)
            counts += np.bincount(entry, likely / np.repeat(totals, length), minlength=len(keys))
        probabilities = counts / np.bincount(sources, counts, minlength=num_source_ids + 1)[sources]
    offsets = np.searchsorted(sources, np.arange(num_source_ids + 2))
    return LexicalTable(offsets, (keys % num_target_ids).astype(np.int32), probabilities)


@dataclass(frozen=True, slots=True)
class _Block:
    """Some rows: for each target token all tokens of its source, the null word first."""

    sources: np.ndarray
    targets: np.ndarray
    sources_of_each: np.ndarray
    """For each target token, how many there are, int64."""

    def keys(self, num_target_ids: int) -> np.ndarray:
        """One number for each pair of ids."""
        return self.sources.astype(np.int64) * num_target_ids + self.targets


def _numbered(block: _Block, num_target_ids: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The keys of a block, rising, which of them each of its pairs has, and how many sources each target token has."""
    own, numbers = np.unique(block.keys(num_target_ids), return_inverse=True)
    return own, numbers.astype(np.int32), block.sources_of_each.astype(np.int32)


def _blocks(source: Ragged, target: Ragged, *, null: int) -> Iterator[_Block]:
    """All pairs of tokens, rows without a target left out."""
    pairs = np.cumsum((source.lengths + 1) * target.lengths)
    start = 0
    while start < len(source):
        done = pairs[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(pairs, done + PAIRS_AT_ONCE, "right")))
        block = _block(source.between(start, stop), target.between(start, stop), null=null)
        if len(block.targets):
            yield block
        start = stop


def _block(source: Ragged, target: Ragged, *, null: int) -> _Block:
    with_null = np.insert(source.values, source.offsets[:-1], null)
    begins = source.offsets[:-1] + np.arange(len(source))
    each = np.repeat(source.lengths + 1, target.lengths)
    first = np.repeat(begins, target.lengths) - (np.cumsum(each) - each)
    places = np.arange(each.sum()) + np.repeat(first, each)
    return _Block(with_null[places], np.repeat(target.values, each), each)

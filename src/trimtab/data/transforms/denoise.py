"""Corrupts sources: words are masked, deleted, replaced by a mask several at once, or moved; the target stays whole.

It works on ids, after everything that works on text: so a mask is a symbol of its own, no text turns into it, and
the words that are left are spelled as they would be without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

Words = list[list[int]]
"""The ids of each word."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What is done to the sources of a corpus, in this order; each part draws for itself."""

    shuffle: int
    """No word moves further than this."""
    delete: float
    """Share of the words that are left out; one is kept in any case."""
    mask: float
    """Share of the words that are masked one by one."""
    infill: float
    """Share of the words that are taken out in spans, a mask for each span."""
    mean_span: float
    mask_id: int
    begins_word: np.ndarray
    """For each id, whether a new word begins with it."""

    def spoil(self, ids: Sequence[int], rng: Generator) -> list[int]:
        """Ids of a line without tags and end symbol, corrupted."""
        words = self.words(ids)
        if self.shuffle and words:
            words = shuffled(words, distance=self.shuffle, rng=rng)
        if self.delete and words:
            words = deleted(words, share=self.delete, rng=rng)
        if self.mask:
            words = masked(words, share=self.mask, mask=self.mask_id, rng=rng)
        if self.infill:
            words = infilled(words, share=self.infill, mean_span=self.mean_span, mask=self.mask_id, rng=rng)
        return [id for word in words for id in word]

    def words(self, ids: Sequence[int]) -> Words:
        """The ids in words; what comes before the first beginning is a word too."""
        words: Words = []
        for id in ids:
            if self.begins_word[id] or not words:
                words.append([])
            words[-1].append(id)
        return words


def shuffled(words: Words, *, distance: int, rng: Generator) -> Words:
    """The words in an order in which none has moved further than `distance`.

    Source: Lample et al. 2018, arXiv 1711.00043, section 2.3: places plus a draw below distance + 1, sorted.
    """
    order = np.argsort(np.arange(len(words)) + rng.uniform(0, distance + 1, len(words)), kind="stable")
    return [words[place] for place in order.tolist()]


def deleted(words: Words, *, share: float, rng: Generator) -> Words:
    """Each word left out with a probability of `share`; where all would be, one of them stays.

    Source: Lample et al. 2018, arXiv 1711.00043, section 2.3.
    """
    kept = rng.random(len(words)) >= share
    if not kept.any():
        kept[rng.integers(len(words))] = True
    return [word for word, stays in zip(words, kept.tolist(), strict=True) if stays]


def masked(words: Words, *, share: float, mask: int, rng: Generator) -> Words:
    """Each word replaced by a mask with a probability of `share`.

    Source: BART, Lewis et al. 2020, arXiv 1910.13461, section 2.2, token masking.
    """
    hidden = (rng.random(len(words)) < share).tolist()
    return [[mask] if hides else word for word, hides in zip(words, hidden, strict=True)]


def infilled(words: Words, *, share: float, mean_span: float, mask: int, rng: Generator) -> Words:
    """Spans of Poisson length, `share` of the words in all, each replaced by one mask; an empty span inserts a mask.

    The last span is cut so that the share is met; a fraction of a word is a whole one by chance. Spans do not overlap;
    every order of spans and of words that stay is equally likely.
    Source: BART, Lewis et al. 2020, arXiv 1910.13461, section 2.2, text infilling.
    """
    left = num_words = int(share * len(words) + rng.random())
    spans: list[int] = []
    while left > 0:
        spans.append(min(int(rng.poisson(mean_span)), left))
        left -= spans[-1]
    result: Words = []
    place = 0
    order: list[int] = rng.permutation(len(spans) + len(words) - num_words).tolist()
    for item in order:
        if item < len(spans):
            result.append([mask])
            place += spans[item]
        else:
            result.append(words[place])
            place += 1
    return result

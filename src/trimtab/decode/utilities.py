"""Sentence chrF and BLEU of all pairs of a few texts at once, as sacreBLEU has them.

For `n` translations of a line a search by expected utility needs n * n scores. Here the n-grams of all texts are
numbered together and the matches of all pairs come from products of matrices: for counts a and b, min(a, b) is the
number of t >= 1 with a >= t and b >= t.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal, assert_never

import numpy as np
from jaxtyping import Float64, Int64

from trimtab.metrics.bleu import bleu_metric

Utility = Literal["chrf", "bleu"]
CHARACTERS, BETA = 6, 2
"""Longest n-grams of chrF, and how much more recall counts than precision."""
WORDS = 4
"""Longest n-grams of BLEU."""


def utilities(texts: Sequence[str], utility: Utility) -> Float64[np.ndarray, "texts texts"]:
    """The utility, 0 to 100, of each text (rows) where each text (columns) is the reference."""
    match utility:
        case "chrf":
            return pairwise_chrf(texts)
        case "bleu":
            return pairwise_bleu(texts)
        case _:
            assert_never(utility)


def pairwise_chrf(texts: Sequence[str]) -> Float64[np.ndarray, "texts texts"]:
    """Sentence chrF2 (Popović 2015, W15-3049) of each text, each text being the reference; its slow twin is sacreBLEU's
    `sentence_chrf`."""
    rows = [
        np.frombuffer("".join(text.split()).encode("utf-32-le", "surrogatepass"), np.uint32) for text in texts
    ]
    precisions, recalls, orders = (np.zeros((len(texts), len(texts))) for _ in range(3))
    for total, matches in _matches(rows, longest=CHARACTERS):
        has_both = (total[:, None] > 0) & (total > 0)
        precisions += np.where(has_both, matches / np.maximum(total, 1)[:, None], 0.0)
        recalls += np.where(has_both, matches / np.maximum(total, 1), 0.0)
        orders += has_both
    precision, recall = precisions / np.maximum(orders, 1), recalls / np.maximum(orders, 1)
    weight = BETA**2
    below = weight * precision + recall
    return 100 * np.where(below > 0, (1 + weight) * precision * recall / np.where(below > 0, below, 1), 0.0)


def pairwise_bleu(texts: Sequence[str]) -> Float64[np.ndarray, "texts texts"]:
    """Sentence BLEU of each text, each text being the reference, with exponential smoothing and only as long n-grams as
    the text has; its slow twin is sacreBLEU's `sentence_bleu`, whose tokenizer 13a cuts the words."""
    cut = _tokenizer()
    words = [cut(text.rstrip()).split() for text in texts]
    number: dict[str, int] = {}
    rows = [np.array([number.setdefault(word, len(number)) for word in each], np.uint32) for each in words]
    lengths = np.array([len(row) for row in rows], np.float64)
    logs, orders, smooth = (np.zeros((len(texts), len(texts))) for _ in range(3))
    any_match = np.zeros((len(texts), len(texts)), bool)
    for total, matches in _matches(rows, longest=WORDS):
        counted = np.broadcast_to(total[:, None] > 0, matches.shape)
        missed = counted & (matches == 0)
        smooth += missed
        share = np.where(missed, 0.5**smooth, matches) / np.maximum(total, 1)[:, None]
        logs += np.where(counted, np.log(np.where(counted, share, 1.0)), 0.0)
        orders += counted
        any_match |= matches > 0
    short = np.minimum(0.0, 1 - lengths / np.maximum(lengths, 1)[:, None])
    return np.where(any_match, 100 * np.exp(short + logs / np.maximum(orders, 1)), 0.0)


@cache
def _tokenizer() -> Callable[[str], str]:
    return bleu_metric("13a").tokenizer


def _matches(
    rows: Sequence[np.ndarray], *, longest: int
) -> list[tuple[Float64[np.ndarray, "texts"], Float64[np.ndarray, "texts texts"]]]:
    """For n-grams of 1 to `longest` symbols: how many each row has, and how many each two rows have in common."""
    lengths = np.array([len(row) for row in rows])
    owners = np.repeat(np.arange(len(rows)), lengths)
    symbols = np.unique(np.concatenate([*rows, np.empty(0, np.uint32)]), return_inverse=True)[1].astype(
        np.int64
    )
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(owners))
    """From each place on, symbols to the end of its row."""
    found = []
    grams, places = symbols, np.arange(len(owners))
    for size in range(1, longest + 1):
        if size > 1:
            # Those that fit, as the n-gram before and the symbol behind it.
            fits = left[places] >= size
            places, grams = places[fits], grams[fits]
            behind = symbols[places + size - 1]
            grams = np.unique(grams * (symbols.max(initial=0) + 1) + behind, return_inverse=True)[1]
        found.append(_common(owners[places], grams, rows=len(rows)))
    return found


def _common(
    owners: Int64[np.ndarray, "grams"], grams: Int64[np.ndarray, "grams"], *, rows: int
) -> tuple[Float64[np.ndarray, "rows"], Float64[np.ndarray, "rows rows"]]:
    """How many n-grams each row has, and how many each two have in common, from the row and the number of each."""
    width = int(grams.max(initial=-1)) + 1
    counts = np.bincount(owners * width + grams, minlength=rows * width).reshape(rows, width)
    totals = counts.sum(1).astype(np.float64)
    common = np.zeros((rows, rows), np.float32)
    # What a single row has is in common with itself alone.
    counts = counts[:, (counts > 0).sum(0) > 1]
    at_least = 1
    while counts.size:
        has = (counts >= at_least).astype(np.float32)
        common += has @ has.T
        at_least += 1
        counts = counts[:, (counts >= at_least).sum(0) > 1]
    np.fill_diagonal(common, totals)
    return totals, common.astype(np.float64)

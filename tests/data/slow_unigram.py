"""A split drawn under a unigram model the slow way: one text, one place, one piece after another."""

import math
from bisect import bisect
from itertools import accumulate

import numpy as np

from trimtab.data.order import uniform
from trimtab.data.piece_table import PieceTable


def slow_split(table: PieceTable, alpha: float, text: str, key: int) -> list[int]:
    """Ids of a normalised text; the stream of `key` decides, at each character with its own number."""
    ids: list[int] = []
    start = 0
    for word in table.parts(text):
        if word in table.whole:
            ids.append(table.whole[word])
        else:
            choices = _choices(table, alpha, word)
            place = 0
            while place < len(word):
                probabilities, pieces = choices[place]
                number = 0
                if len(pieces) > 1:
                    draw = uniform(np.array([key], np.uint64), np.array([start + place]))[0]
                    number = bisect(probabilities, draw * probabilities[-1])
                spelled = table.spell(pieces[number])
                # A run of unknown characters is one.
                ids += [] if spelled == [table.unknown] == ids[-1:] else spelled
                place += len(pieces[number])
        start += len(word)
    return ids


def _choices(table: PieceTable, alpha: float, word: str) -> list[tuple[list[float], list[str]]]:
    """At each place the cumulated weights of the pieces that begin there, and the pieces."""
    after = [0.0] * (len(word) + 1)
    choices: list[tuple[list[float], list[str]]] = [([], [])] * len(word)
    for start in reversed(range(len(word))):
        pieces = [word[start:end] for end in range(start + 1, len(word) + 1)]
        # A character without a piece of its own can be passed anyway, at a price.
        pieces = [piece for piece in pieces if piece in table.scores or len(piece) == 1]
        weights = [
            alpha * (table.scores[piece][1] if piece in table.scores else table.unknown_score)
            + after[start + len(piece)]
            for piece in pieces
        ]
        highest = max(weights)
        shares = [math.exp(weight - highest) for weight in weights]
        after[start] = highest + math.log(sum(shares))
        choices[start] = list(accumulate(shares)), pieces
    return choices

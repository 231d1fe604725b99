"""A split under a BPE model with merges left out, drawn the slow way: one word, one merge after another."""

import numpy as np

from trimtab.data.order import uniform
from trimtab.data.piece_table import PieceTable


def slow_split(table: PieceTable, dropout: float, text: str, key: int) -> list[int]:
    """Ids of a normalised text; the stream of `key` decides, with the number of the round and of the word's place."""
    ids: list[int] = []
    start = 0
    for word in table.parts(text):
        for piece in [word] if word in table.whole else _merged(table, dropout, word, start, key):
            for id in table.spell(piece):
                if id != table.unknown or not ids or ids[-1] != id:
                    ids.append(id)
        start += len(word)
    return ids


def _merged(table: PieceTable, dropout: float, word: str, start: int, key: int) -> list[str]:
    pieces, starts = list(word), list(range(len(word)))
    gone: set[tuple[int, str, str]] = set()
    rounds = 0
    while True:
        able = [
            (-table.scores[pieces[place] + pieces[place + 1]][1], place)
            for place in range(len(pieces) - 1)
            if pieces[place] + pieces[place + 1] in table.scores
            and (starts[place], pieces[place], pieces[place + 1]) not in gone
        ]
        if not able:
            return pieces
        _, place = min(able)
        draw = uniform(np.array([key], np.uint64), np.array([(rounds << 32) + start]))[0]
        if draw < dropout:
            gone.add((starts[place], pieces[place], pieces[place + 1]))
        else:
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
            del starts[place + 1]
        rounds += 1

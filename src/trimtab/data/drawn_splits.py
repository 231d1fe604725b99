"""Splits the words of many texts at random, all at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, filterfalse, pairwise

import numpy as np

from trimtab.data.piece_table import PieceTable
from trimtab.data.piece_trie import NO_PIECE

_CHARACTERS_AT_ONCE = 1 << 17
"""Bounds the memory; what is drawn does not depend on it."""
_NOTHING = -2
"""In place of an id, where no piece begins."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of some texts, without those that stay whole."""

    different: Sequence[str]
    """Each of them once, none empty, from the longest to the shortest."""
    number: np.ndarray
    """For each word of the texts, which of the different ones it is, int64."""
    place: np.ndarray
    """Where it begins among the characters of all texts, int64."""
    offset: np.ndarray
    """Where it begins in its text, int64."""
    key: np.ndarray
    """What names the stream of its text, uint64; a draw takes numbers of it that depend on offsets alone."""


Draw = Callable[[Words], tuple[np.ndarray, np.ndarray]]
"""The places where pieces begin, and the id of each, NO_PIECE for a character without a piece."""


def drawn_splits(table: PieceTable, texts: Sequence[str], keys: np.ndarray, draw: Draw) -> list[list[int]]:
    """Ids of each normalised text, of which a key names the stream (see `order.stream_keys`)."""
    rows: list[list[int]] = []
    for batch in _batches(texts):
        rows += _split(table, texts[batch], keys[batch], draw)
    return rows


def _split(table: PieceTable, texts: Sequence[str], keys: np.ndarray, draw: Draw) -> list[list[int]]:
    """The same for one batch. Pieces are noted at the characters where they begin, from whole words and from drawn ones
    alike; what the rows are follows from them."""
    parts = [table.parts(text) for text in texts]
    all_parts = list(chain.from_iterable(parts))
    different = sorted(filterfalse(table.whole.__contains__, dict.fromkeys(all_parts)), key=len)[::-1]
    places = {word: place for place, word in enumerate(different)} | dict.fromkeys(table.whole, -1)
    number = np.fromiter(map(places.__getitem__, all_parts), np.int64, len(all_parts))
    place = _sums(np.fromiter(map(len, all_parts), np.int64, len(all_parts)))[:-1]
    begins = _sums(np.fromiter(map(len, texts), np.int64, len(texts)))
    line = np.repeat(np.arange(len(texts)), np.fromiter(map(len, parts), np.int64, len(parts)))
    pieces = np.full(begins[-1], _NOTHING, np.int32)
    for part in np.flatnonzero(number < 0).tolist():
        pieces[place[part]] = table.whole[all_parts[part]]
    split = np.flatnonzero(number >= 0)
    place, line = place[split], line[split]
    drawn, ids = draw(Words(different, number[split], place, place - begins[line], keys[line]))
    pieces[drawn] = ids
    return _rows(table, texts, pieces, begins)


def _rows(table: PieceTable, texts: Sequence[str], pieces: np.ndarray, begins: np.ndarray) -> list[list[int]]:
    """The ids of each text, from those at the characters where pieces begin."""
    places = np.flatnonzero(pieces != _NOTHING)
    bounds = np.searchsorted(places, begins)
    ids = pieces[places]
    unknown = ids == NO_PIECE
    if unknown.any():
        counts = np.ones(len(ids), np.int64)
        if table.bytes:
            text = "".join(texts)
            spelled = [table.spell(text[place]) for place in places[unknown].tolist()]
            counts[unknown] = [len(each) for each in spelled]
            ids, is_byte = np.repeat(ids, counts), np.repeat(unknown, counts)
            ids[is_byte] = np.concatenate(spelled)
        else:
            # A run of unknown characters is one, as sentencepiece has it.
            follows = np.concatenate([[False], unknown[:-1]]) & unknown
            follows[bounds[bounds < len(ids)]] = False
            counts[follows] = 0
            ids = np.where(unknown, table.unknown, ids)[~follows]
        bounds = _sums(counts)[bounds]
    values = ids.tolist()
    return [values[start:stop] for start, stop in pairwise(bounds.tolist())]


def _sums(sizes: np.ndarray) -> np.ndarray:
    """Where each of some stretches begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)])


def _batches(texts: Sequence[str]) -> Iterator[slice]:
    """The texts in runs of about so many characters."""
    start = size = 0
    for number, text in enumerate(texts):
        if size and size + len(text) > _CHARACTERS_AT_ONCE:
            yield slice(start, number)
            start, size = number, 0
        size += len(text)
    if start < len(texts):
        yield slice(start, len(texts))

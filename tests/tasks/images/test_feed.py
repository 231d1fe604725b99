from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from trimtab.tasks.images.feed import ImageFeed, ImagePlace, joined
from trimtab.tasks.images.pixels import BadImage


@dataclass(frozen=True, slots=True)
class Feed(ImageFeed):
    bad: tuple[int, ...] = ()

    def example(self, place: ImagePlace):
        if place.line in self.bad:
            raise BadImage("too small", "1 x 1")
        return np.full(place.line, place.corpus, np.uint8), [place.line, place.turn]


def places(numbers):
    return SimpleNamespace(corpus=numbers % 2, line=numbers // 2, turn=numbers * 0 + 7)


def test_what_cannot_be_read_is_dropped_with_its_reason_and_the_rest_keeps_its_position():
    chunk = Feed(SimpleNamespace(at=places), bad=(3,)).chunk(start=4, count=6)
    assert chunk.position.tolist() == [4, 5, 8, 9]
    assert (chunk.corpus.tolist(), chunk.line.tolist()) == ([0, 1, 0, 1], [2, 2, 4, 4])
    assert [each.reason for each in chunk.dropped] == ["too small"] * 2
    assert chunk.dropped_position.tolist() == [6, 7]
    assert [chunk.target.row(number).tolist() for number in range(4)] == [[2, 7], [2, 7], [4, 7], [4, 7]]
    assert chunk.source.row(3).tolist() == [1, 1, 1, 1]


def test_no_rows_at_all_are_joined_to_none():
    assert len(joined([])) == 0
    assert joined([np.zeros(2, np.uint8), np.ones(1, np.uint8)]).values.dtype == np.uint8

import math
from collections import Counter

import numpy as np
import pytest

from trimtab.data.order import stream_keys
from trimtab.data.subword_sampling import NbestDraw

SCORES = [0.0] * 5 + [-1.0, -2.0, -4.0]


def test_the_best_are_drawn_by_their_probability_to_the_power_of_alpha():
    draw = NbestDraw(lambda line: [[5], [6, 5], [7]], SCORES, 0.5)
    seen = Counter(map(tuple, draw.splits(["any"] * 4000, stream_keys(1, np.arange(4000)))))
    weights = {(5,): math.exp(-0.5), (6, 5): math.exp(-1.5), (7,): math.exp(-2.0)}
    for split, weight in weights.items():
        assert seen[split] / 4000 == pytest.approx(weight / sum(weights.values()), abs=0.03)


def test_a_line_has_its_own_draw_whatever_is_drawn_with_it():
    draw = NbestDraw(lambda line: [[5], [6, 5], [7]], SCORES, 0.1)
    keys = stream_keys(1, np.arange(50))
    whole = draw.splits(["any"] * 50, keys)
    assert draw.splits(["any"] * 20, keys[30:]) == whole[30:]
    assert len(set(map(tuple, whole))) == 3


def test_a_line_without_splits_has_none():
    assert NbestDraw(lambda line: [], SCORES, 0.5).splits([""], stream_keys(1)) == [[]]

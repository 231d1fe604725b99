import math
import random
from collections import Counter

import pytest

from trimtab.data.nbest_draw import NbestDraw

SCORES = {5: -1.0, 6: -2.0, 7: -4.0}


def test_the_best_are_drawn_by_their_probability_to_the_power_of_alpha():
    draw = NbestDraw(lambda line: [[5], [6, 5], [7]], SCORES.__getitem__, 0.5)
    seen = Counter(tuple(draw.split("any", random.Random(seed))) for seed in range(4000))
    weights = {(5,): math.exp(-0.5), (6, 5): math.exp(-1.5), (7,): math.exp(-2.0)}
    for split, weight in weights.items():
        assert seen[split] / 4000 == pytest.approx(weight / sum(weights.values()), abs=0.03)


def test_a_line_without_splits_has_none():
    assert NbestDraw(lambda line: [], SCORES.__getitem__, 0.5).split("", random.Random(1)) == []

import xml.etree.ElementTree as tree

import pytest

from tests.lab.laboratory import with_result, written
from trimtab.lab.plot import BLUE, GREY, RED, plot
from trimtab.lab.table import row_of

SAME = (50.0, 51.0, 49.5, 50.2, 50.8)


def drawn(folder, other):
    with_result(written(folder), plain=SAME, other=other)
    return list(tree.fromstring(plot(row_of(folder, "better"))).iter())


def of_kind(parts, kind):
    return [each for each in parts if each.tag.endswith("}" + kind)]


@pytest.mark.parametrize(
    ("changes", "colour"),
    [
        ((2.1, 1.9, 2.0, 2.2, 1.8), BLUE),
        ((-2.1, -1.9, -2.0, -2.2, -1.8), RED),
        ((0.0, 0.1, -0.1, 0.05, 0.0), GREY),
        ((0.0, 0.0, 0.0, 0.0, 0.0), GREY),
        ((1e6, 2e6, 3e6, 1e6, 2e6), BLUE),
    ],
)
def test_each_seed_the_mean_and_the_interval_stand_where_their_numbers_say(tmp_path, changes, colour):
    parts = drawn(tmp_path, [one + other for one, other in zip(SAME, changes, strict=True)])
    *seeds, mean = [float(each.get("cx")) for each in of_kind(parts, "circle")]
    assert len(seeds) == 5
    assert mean == pytest.approx(sum(seeds) / 5, abs=0.2)
    for one, other in zip(range(4), range(1, 5), strict=True):
        assert (seeds[one] - seeds[other]) * (changes[one] - changes[other]) >= 0
    assert all(220 <= place <= 720 for place in (*seeds, mean))
    assert of_kind(parts, "circle")[-1].get("fill") == colour
    interval = of_kind(parts, "line")[-1]
    assert float(interval.get("x1")) <= mean <= float(interval.get("x2"))
    assert 3 <= len(of_kind(parts, "line")) <= 10

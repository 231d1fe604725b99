import base64
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.for_each import for_each
from trimtab.report.series import (
    MOST_POINTS,
    MOST_SINGLE,
    Pack,
    counts_of,
    ends_of,
    points_of,
    steps_per_point,
)

ANY = arrays(
    np.float64, st.integers(1, 60), elements=st.floats(allow_nan=True, allow_infinity=True, width=32)
)


@for_each("steps", [1, 4096, 4097, 10_000, 999_999, 1_000_000, 2_097_153])
def test_points_are_few_and_never_fewer_than_half_of_the_most(steps):
    width = steps_per_point(steps)
    points = -(-steps // width)
    assert points <= (MOST_SINGLE if width == 1 else MOST_POINTS)
    assert width == 1 or points > MOST_POINTS // 2 - 1


@given(ANY, st.integers(2, 9))
@settings(deadline=None)
def test_each_point_has_the_lowest_the_highest_and_the_mean_of_its_steps(values, width):
    points = points_of(values, width)
    for number in range(-(-len(values) // width)):
        steps = values[number * width : (number + 1) * width]
        known = steps[np.isfinite(steps)]
        if not len(known):
            assert np.isnan([points.mean[number], points.lowest[number], points.highest[number]]).all()
            continue
        assert (points.lowest[number], points.highest[number]) == (known.min(), known.max())
        assert steps[points.lowest_at[number]] == known.min()
        assert steps[points.highest_at[number]] == known.max()
        assert points.mean[number] == pytest.approx(known.mean(), rel=1e-9, abs=1e-9)


def test_a_point_for_each_step_where_they_are_few():
    points = points_of(np.array([1.0, np.inf, 3.0]), 1)
    assert points.lowest is None
    assert np.isnan(points.mean[1])
    assert points.mean[2] == 3


def test_the_last_step_of_each_point_and_its_counts():
    values = np.arange(1.0, 8.0)
    assert ends_of(values, 3).tolist() == [3, 6, 7]
    assert counts_of(np.array([1, 0, 1, np.nan, 0, 0, 1.0]), 3).tolist() == [2, 0, 1]


@given(ANY)
@settings(deadline=None)
def test_what_is_packed_comes_out_again(values):
    pack = Pack()
    pack.add(np.arange(5), kind="u4")
    place = pack.add(values, kind="f8")
    plain = zlib.decompress(base64.b64decode(pack.text()))
    planes = np.frombuffer(plain[place["at"] : place["at"] + 8 * place["n"]], np.uint8).reshape(8, -1)
    found = np.ascontiguousarray(planes.T).view("<f8").ravel()
    np.testing.assert_array_equal(found, values)


def test_numbers_beyond_float32_are_held_at_its_bounds():
    pack = Pack()
    place = pack.add(np.array([1e300, -1e300]))
    planes = np.frombuffer(zlib.decompress(base64.b64decode(pack.text())), np.uint8).reshape(4, -1)
    assert place == {"at": 0, "n": 2, "kind": "f4"}
    assert np.isfinite(np.ascontiguousarray(planes.T).view("<f4")).all()

import multiprocessing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.fake_feed import DeadlyPipeline, fake_feed
from trimtab.data import bisect_failure as culprits
from trimtab.data.bisect_failure import bisect_failure, halved, survives


@given(st.integers(0, 10**9), st.integers(1, 2000), st.data())
def test_one_harmful_place_is_found_wherever_it_stands(start, count, data):
    harmful = start + data.draw(st.integers(0, count - 1))

    def is_harmless(first, size):
        assert start <= first
        assert first + size <= start + count
        return not first <= harmful < first + size

    assert halved(is_harmless, start=start, count=count) == harmful


def test_harm_that_no_half_does_alone_has_no_culprit():
    assert halved(lambda first, size: True, start=0, count=64) is None


def test_of_two_harmful_places_one_is_found():
    found = halved(lambda first, size: not {5, 90} & set(range(first, first + size)), start=0, count=128)
    assert found == 5


@pytest.mark.quick("killed")
@pytest.mark.parametrize("death", ["killed", "hangs"])
def test_a_line_that_ends_or_stops_its_reader_is_found_in_other_processes(death, monkeypatch):
    monkeypatch.setattr(culprits, "PROBE_SECONDS", 2.0)
    feed = fake_feed(lengths=(40, 17), pipeline=DeadlyPipeline("13", death))
    places = feed.mixture.at(np.arange(100))
    found = bisect_failure(feed, start=0, count=100)
    assert found is not None
    assert places.line[found] == 3  # the line whose number, from 10, is 13
    assert not multiprocessing.active_children()


def test_an_error_that_is_told_is_no_harm():
    assert survives(fake_feed(bad_line=0), 0, 48)

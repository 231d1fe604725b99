"""How long the pipeline is measured."""

import itertools
from types import SimpleNamespace

import pytest

from tests.benchmarks.open_benchmark import open_benchmark


@pytest.fixture
def taken(monkeypatch):
    """The measurement with a clock of its own: every window of 100 tokens and 10 positions takes a second."""
    script, now = open_benchmark("data_pipeline", monkeypatch), [0.0]
    monkeypatch.setattr(script.time, "perf_counter", lambda: now[0])

    def stream():
        for number in itertools.count(1):
            now[0] += 1.0
            yield SimpleNamespace(position=number * 10, num_tokens=100), None

    windows = stream()
    return lambda *given: script.taken(windows, *given)


def test_it_goes_on_until_the_time_is_over_and_enough_was_delivered(taken):
    assert taken(0, 3, 10) == (100.0, 30)
    assert taken(30, 1, 65) == (100.0, 100)


def test_one_window_is_taken_in_any_case(taken):
    assert taken(0, 0, -5) == (100.0, 10)

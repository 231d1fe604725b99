"""How the lag of a live page is counted."""

import pytest

from tests.benchmarks.open_benchmark import open_benchmark


def test_a_step_waits_until_the_page_shows_it_or_a_later_one(monkeypatch):
    script = open_benchmark("report_live", monkeypatch)
    times = [(1, 0.5), (2, 1.1), (3, 1.2), (4, 2.0), (5, 9.0)]
    seen = [(1, 1.0), (3, 1.5), (4, 2.25)]
    assert script.lags(times, seen) == pytest.approx([0.4, 0.3, 0.25])

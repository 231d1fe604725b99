"""No false alarm: the bounds against what ten real runs showed (benchmarks/healthy_watch.py)."""

import json
from pathlib import Path

import pytest

from trimtab.watch import activations, attention, clipping, update_ratio

RUNS = json.loads((Path(__file__).parent / "healthy.json").read_text())["runs"]
LOOKS = [(name, look) for name, looks in RUNS.items() for look in looks]
AWAY = 3.0
"""The least factor between a healthy number and its bound, but for dead units and the largest ratio, where it is 2."""


def test_there_are_ten_runs_and_each_learns():
    assert len(RUNS) == 10
    assert all(looks[-1]["loss"] < looks[0]["loss"] for looks in RUNS.values())


@pytest.mark.parametrize(("name", "look"), LOOKS, ids=[f"{name} {look['step']}" for name, look in LOOKS])
def test_nothing_was_found_and_no_number_is_near_its_bound(name, look):
    assert look["findings"] == []
    assert look["rms"][1] * AWAY < activations.GROWN_RMS < activations.MOST_RMS
    assert look["largest_logit"][1] * AWAY < attention.LARGE_LOGIT
    slowest, fastest = look.get(
        "ratio", (1e-3, 1e-3)
    )  # too few measurements in the first steps of a long warmup
    assert slowest > AWAY * update_ratio.SMALLEST
    assert fastest * 2 < update_ratio.LARGEST
    assert look["scores"]["attention_sinks"] * AWAY < attention.MOST_SINKS
    assert look["dead"][1] * 2 < activations.MOST_DEAD
    assert look["scores"].get("clip_rate", 0.0) * AWAY < clipping.MOST_CLIPPED

"""No false alarm: the guard on loss and gradient norm of eleven real runs (benchmarks/healthy_runs.py)."""

import json
from pathlib import Path

import pytest

from tests.for_each import for_each
from trimtab.guard import Guard

RUNS = json.loads((Path(__file__).parent / "healthy_runs.json").read_text())["runs"]


@for_each("name", RUNS)
def test_no_step_of_a_healthy_run_is_refused(name):
    run, guard = RUNS[name], Guard()
    verdicts = [guard.judge(*each) for each in zip(run["loss"], run["grad_norm"], strict=True)]
    assert len(verdicts) >= 300
    assert [verdict.finding for verdict in verdicts if not verdict.apply] == []


@pytest.mark.quick(
    "3.0-adamw",
    "3.0-adafactor, inverse_sqrt",
    "3.0-language model, text of many kinds",
    "30.0-adafactor, inverse_sqrt",
    "30.0-language model, text of many kinds",
)
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("factor", [3.0, 30.0])
def test_the_same_run_with_a_spike_in_loss_or_norm_loses_that_step_alone(name, factor):
    run, guard = RUNS[name], Guard()
    refused = []
    for step, (loss, norm) in enumerate(zip(run["loss"], run["grad_norm"], strict=True)):
        spike = factor if step in (200, 201, 240) else 1.0
        if not guard.judge(loss * spike, norm * spike**2).apply:
            refused.append(step)
    assert refused == [200, 201, 240]


def test_there_are_eleven():
    assert len(RUNS) == 11

"""Numbers that go wrong in the middle of a run cost the step in which they do, and nothing after it."""

import math

import pytest
import torch

from tests.faults.counting import Count
from tests.faults.injecting import poke, spoil, spoil_one_entry
from tests.training.small_line import Line, equal, small_line
from trimtab.errors import RunFailed

STEPS = 16
CHANGES = {"length": f"{STEPS} steps", "evaluate.every": "90 steps", "checkpoint.every": "90 steps"}
BACK_WITHIN = 20


@pytest.fixture
def line(tmp_path) -> Line:
    return small_line(tmp_path, **CHANGES)


def weights_after_each_step(line: Line) -> list[dict[str, torch.Tensor]]:
    """Filled while the line trains: the weights behind steps 1, 2, ..."""
    seen = []
    line.told.watch = lambda step: seen.append(line.weights())
    return seen


def refused(line: Line) -> list[int]:
    return [each["step"] for each in line.log("metrics") if each["skipped"]]


def taking(line: Line):
    """Which step is being taken, from 1."""
    return lambda: len(line.told.steps) + 1


@pytest.mark.quick("nan")
@pytest.mark.parametrize("factor", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_costs_that_step_alone(factor, line, count: Count):
    spoil(line.parts, at={9, 13}, step=taking(line), loss=factor)
    seen = weights_after_each_step(line)
    line.train()
    unchanged = [step for step in range(2, STEPS + 1) if equal(seen[step - 1], seen[step - 2])]
    count("numbers", tried=2, held=len({9, 13} & set(unchanged)), steps_lost=[1, 1])
    assert refused(line) == unchanged == [9, 13]
    assert [each.code for each in line.told.findings if each.code == "S901"] == ["S901", "S901"]
    assert all(bool(torch.isfinite(tensor).all()) for tensor in line.weights().values())
    assert all(bool(torch.isfinite(t).all()) for t in line.parts.stepper.optimizer.state_tensors().values())


@pytest.mark.quick("inf")
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_one_entry_of_one_gradient_is_enough(value, line, count: Count):
    parameter = next(iter(line.parts.model.parameters()))
    spoil_one_entry(parameter, value, at={9}, step=taking(line))
    seen = weights_after_each_step(line)
    line.train()
    held = refused(line) == [9] and equal(seen[8], seen[7])
    count("numbers", tried=1, held=held, steps_lost=[1])
    assert held
    assert "S901" in [each.code for each in line.told.findings]
    assert not equal(seen[9], seen[8])


@pytest.mark.quick("1000.0")
@pytest.mark.parametrize("factor", [10.0, 1e3, 1e30])
def test_a_gradient_spike_is_clipped_or_refused_and_the_loss_is_back_soon(factor, tmp_path, count: Count):
    longer = CHANGES | {"length": "30 steps"}
    calm, spiked = small_line(tmp_path / "calm", **longer), small_line(tmp_path / "spiked", **longer)
    spoil(spiked.parts, at={12}, step=taking(spiked), gradient=factor)
    calm.train()
    spiked.train()
    ends = [sum(each["loss"] for each in line.log("metrics")[-10:]) / 10 for line in (calm, spiked)]
    count("numbers", tried=1, held=ends[1] < 1.2 * ends[0] + 0.05, steps_lost=[len(refused(spiked))])
    assert ends[1] < 1.2 * ends[0] + 0.05


def test_a_weight_that_is_no_number_ends_the_run_with_its_cause(tmp_path, count: Count):
    line = small_line(tmp_path, **CHANGES | {"length": "90 steps"})

    def watch(step: int) -> None:
        if step == 9:
            poke(line.parts.model, name, math.nan)

    name = next(name for name, each in line.parts.model.named_parameters() if each.ndim == 2)
    line.told.watch = watch
    with pytest.raises(RunFailed):
        line.train()
    count("numbers", tried=1, held=name in said(line), steps_lost=[len(line.told.steps) - 9])
    assert len(line.told.steps) <= 9 + BACK_WITHIN
    assert name in said(line)


def said(line: Line) -> str:
    return " ".join(str(each) for each in line.told.findings)

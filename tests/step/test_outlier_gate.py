import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.for_each import for_each
from trimtab.config.guard import GuardConfig
from trimtab.guard.outlier import OutlierRule, OutlierWindow
from trimtab.step.outlier_gate import OutlierGate


def judged(gate: OutlierGate, loss: float, norm: float) -> tuple[bool, bool]:
    """The gate's verdict, and the window as it is afterwards."""
    by_loss, by_norm = gate(torch.tensor(loss), torch.tensor(norm))
    gate.after(by_loss | by_norm)
    return bool(by_loss), bool(by_norm)


def stream(seed: int, steps: int) -> list[tuple[float, float]]:
    draw = random.Random(seed)
    values = []
    for step in range(steps):
        spike = draw.random() < 0.03
        loss = 2 + 3 * math.exp(-step / 100) + draw.gauss(0, 0.05) + (draw.uniform(1, 50) if spike else 0)
        values.append((loss, math.exp(draw.gauss(-1, 0.3) + (draw.uniform(5, 50) if spike else 0))))
    return values


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([16, 31, 128]))
def test_it_makes_the_verdicts_of_its_slow_twin(seed, window):
    active = window // 2
    gate = OutlierGate(GuardConfig(window=window, active_from=active))
    twin = OutlierWindow(OutlierRule(window=window, active_from=active))
    for loss, norm in stream(seed, 300):
        # The device has float32; what is that near to the bound may fall on either side.
        bounds = twin.bounds() or (math.inf, math.inf)
        if min(abs(loss / bounds[0] - 1), abs(norm / bounds[1] - 1)) < 1e-5:
            continue
        finding = twin.judge(loss, norm)
        by_loss, by_norm = judged(gate, loss, norm)
        assert (by_loss or by_norm) == (finding is not None)
        if finding is None:
            twin.accept(loss, norm)
        else:
            assert finding.code == ("S902" if by_loss else "S903")


@for_each("steps", [0, 1, 15, 16, 17, 40])
def test_a_gate_that_was_saved_judges_as_the_one_that_was_not(steps):
    config = GuardConfig(window=16, active_from=8)
    gate, again = OutlierGate(config), OutlierGate(config)
    values = stream(3, steps + 40)
    for loss, norm in values[:steps]:
        judged(gate, loss, norm)
    again.from_dict(gate.to_dict())
    assert gate.to_dict() == again.to_dict()
    for loss, norm in values[steps:]:
        assert judged(gate, loss, norm) == judged(again, loss, norm)
    assert gate.to_dict() == again.to_dict()


def test_a_skipped_step_leaves_no_trace_for_whatever_reason():
    gate = OutlierGate(GuardConfig(window=16, active_from=8))
    for loss, norm in stream(1, 30):
        judged(gate, loss, norm)
    before = gate.to_dict()
    gate(torch.tensor(math.nan), torch.tensor(math.inf))
    gate.after(torch.tensor(True))
    assert gate.to_dict() == before


def test_a_saved_window_that_has_become_shorter_goes_on_with_the_newest():
    gate = OutlierGate(GuardConfig(window=32, active_from=8))
    for loss, norm in stream(2, 32):
        judged(gate, loss, norm)
    shorter = OutlierGate(GuardConfig(window=16, active_from=8))
    shorter.from_dict(gate.to_dict())
    assert shorter.to_dict()["losses"] == gate.to_dict()["losses"][-16:]


@pytest.mark.gpu
def test_on_a_gpu_it_judges_the_same_with_deterministic_algorithms_and_without_waiting():
    config = GuardConfig(window=16, active_from=8)
    here, there = OutlierGate(config), OutlierGate(config)
    there.state_on(torch.device("cuda"))  # what it remembers moves there once
    verdicts = []
    torch.use_deterministic_algorithms(True)
    try:
        for loss, norm in stream(5, 60):
            expected = judged(here, loss, norm)
            values = torch.tensor([loss, norm], device="cuda")
            torch.cuda.set_sync_debug_mode("error")
            try:
                by_loss, by_norm = there(values[0], values[1])
                there.after(by_loss | by_norm)
            finally:
                torch.cuda.set_sync_debug_mode("default")
            verdicts.append((expected, (bool(by_loss), bool(by_norm))))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(one == other for one, other in verdicts)
    assert any(any(one) for one, _ in verdicts)

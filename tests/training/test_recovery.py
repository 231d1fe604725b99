import math

import pytest
import torch

from tests.training.small_line import equal, small_line
from tests.training.test_rollback import CHANGES, poked
from trimtab.errors import RunFailed
from trimtab.training.recovery import out_of_memory, train_with_recovery
from trimtab.training.restore import restore
from trimtab.types import TrainState


def test_a_healthy_run_goes_through_once(tmp_path):
    line = small_line(tmp_path, **{"length": "4 steps", "evaluate.every": "50 steps"})
    assert train_with_recovery(line.parts, TrainState(), line.recorder).step == 4
    assert line.recorder.skips.rewound == []


@pytest.mark.slow
def test_a_run_that_cannot_rewind_ends(tmp_path):
    line = small_line(tmp_path, **{**CHANGES, "guard": {"rewinds": 0}})
    poked(line, after=100, value=math.nan)
    with pytest.raises(RunFailed, match=r"guard\.rewinds is 0"):
        train_with_recovery(line.parts, TrainState(), line.recorder)


@pytest.mark.quick("cpu")
@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nSee documentation"),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: 99 bytes"),
        MemoryError(),
    ],
    ids=["gpu", "cpu", "python"],
)
def test_memory_that_runs_out_in_the_middle_ends_the_run_with_advice_and_loses_nothing(tmp_path, error):
    changes = {"length": "12 steps", "evaluate.every": "90 steps", "checkpoint.every": "4 steps"}
    line, undisturbed = (small_line(tmp_path / name, **changes) for name in ("run", "undisturbed"))
    undisturbed.train()
    plain = line.parts.stepper.objective

    def full(pack):
        if line.told.steps and line.told.steps[-1]["step"] == 9:
            raise error
        return plain(pack)

    line.parts.stepper.objective = full
    with pytest.raises(RunFailed, match=r"memory ran out after step 9: .+\n.+\n.+--resume") as raised:
        train_with_recovery(line.parts, TrainState(), line.recorder)
    assert "See documentation" not in str(raised.value)
    line.recorder.close()
    again = small_line(tmp_path / "again", **changes)
    state = restore(again.parts, line.recorder.store.latest())
    assert state.step == 8
    again.recorder.begin_at(state)
    again.train(state)
    assert equal(again.weights(), undisturbed.weights())


def test_an_error_that_is_not_about_memory_is_raised_as_it_is(tmp_path):
    line = small_line(tmp_path, **{"length": "4 steps", "evaluate.every": "50 steps"})

    def broken(pack):
        raise RuntimeError("shapes do not fit")

    line.parts.stepper.objective = broken
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        train_with_recovery(line.parts, TrainState(), line.recorder)


def test_memory_that_runs_out_in_the_first_step_is_put_down_to_the_states_of_the_optimizer():
    told = out_of_memory(MemoryError("2 GiB"), step=0)
    assert "in the first step: 2 GiB" in told
    assert "adds the optimizer states" in told
    assert "--resume" not in told
    assert "set step.x=1" in out_of_memory(MemoryError(), step=0, planned="set step.x=1")

"""Memory that runs out at any moment of a run ends it with settings to take, and what was saved holds."""

import pytest
import torch

from tests.short_run import SHORT
from tests.small_run import small_recipe
from trimtab.checkpoint.step_folders import list_steps
from trimtab.errors import RunFailed
from trimtab.launch import train
from trimtab.step.stepper import Stepper
from trimtab.training import recovery
from trimtab.training.preflight import memory

pytestmark = pytest.mark.usefixtures("checks_of_data_only")
ON_GPU = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nSee documentation")
CLIMB = "train with step.recompute=block, which `trimtab fit` proposes and explains"
MOMENTS = {
    "data": "trimtab.training.prepare.open_datasets",
    "model": "trimtab.training.prepare.build",
    "first weights": "trimtab.training.prepare.begin_from_weights",
    "checks": "trimtab.launch.preflight",
    "evaluation": "trimtab.training.train.validate",
    "checkpoint": "trimtab.checkpoint.background.copy_now",
    "resuming": "trimtab.launch.restore",
}


def full(*_, **__):
    raise ON_GPU


@pytest.fixture
def climb(monkeypatch):
    """What the planner would propose on a GPU."""
    for module in (memory, recovery):
        monkeypatch.setattr(module, "planned_fix", lambda *_, **__: CLIMB)


def told_by(recipe, out, **more):
    with pytest.raises(
        RunFailed, match=r"memory.+CUDA out of memory\. Tried to allocate 2\.00 GiB\."
    ) as raised:
        train(recipe, out=out, **more)
    assert "See documentation" not in str(raised.value)
    assert "fix     " in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_run_ends_with_the_settings_that_fit(moment, climb, recipe, copied_run, tmp_path, monkeypatch):
    out = tmp_path / "new"
    more = {}
    if moment == "resuming":
        out, recipe = copied_run
        more = {"resume": True, "overrides": {"length": "64 steps"}}
    monkeypatch.setattr(MOMENTS[moment], full)
    assert CLIMB in told_by(recipe, out, **more)


def test_the_first_step_says_what_it_adds(climb, recipe, tmp_path, monkeypatch):
    monkeypatch.setattr(Stepper, "take_step", full)
    told = told_by(recipe, tmp_path / "new")
    assert CLIMB in told
    assert "first update adds the optimizer states" in told


def test_a_checkpoint_that_host_memory_has_no_room_for_leaves_the_ones_before(tmp_path, monkeypatch):
    recipe = small_recipe(tmp_path, **SHORT | {"checkpoint.every": "2 steps"})
    calls = []

    def fetch(copies):
        calls.append(1)
        if len(calls) > 2:  # model and optimizer of the first checkpoint
            full()
        return dict(copies.tensors)

    monkeypatch.setattr("trimtab.checkpoint.background.fetch", fetch)
    told = told_by(recipe, tmp_path / "run")
    assert "checkpoint of step 4" in told
    assert "--resume" in told
    assert list_steps(tmp_path / "run" / "checkpoints") == [2]
    monkeypatch.undo()
    assert train(recipe, out=tmp_path / "run", resume=True).state.step == 4

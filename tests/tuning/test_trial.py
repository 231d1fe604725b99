import pytest
import torch

from tests.optimizer_kinds import EVERY_KIND
from tests.small_run import small_parts, small_recipe
from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.training.preflight.state_backup import tensors_of
from trimtab.tuning.trial import RestorePoint, Trial, opened
from trimtab.types import TrainState

TINY = {"model.dim": 8, "model.heads": 1, "model.feed_forward": 8}


def everything(parts):
    state = {**tensors_of(parts.model), **parts.stepper.optimizer.state_tensors()}
    return {name: tensor.detach().clone() for name, tensor in state.items()}


def take(trial, number, *, rate=1e-2):
    trial.parts.model.train()
    trial.parts.stepper.begin(trial.at(number))
    trial.parts.stepper.take_step(trial.batches(number + 1)[number], learning_rate=rate)


CHANGES = {
    **{kind: {"step.optimizer": {"kind": kind}} for kind in EVERY_KIND},
    "8bit": {"step.optimizer": {"kind": "adamw", "states": "8bit"}},
    "ema": {"step.ema": {}, "step.clip": {"kind": "adaptive"}},
}


@pytest.mark.quick("1-ema")
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("steps_before", [0, 1])
def test_everything_has_its_bits_again_and_the_run_continues_as_if_nothing_had_been(
    tmp_path, changes, steps_before
):
    trial = Trial(small_parts(tmp_path, **TINY, **changes), TrainState(), "small")
    for number in range(steps_before):
        take(trial, number)
    before = everything(trial.parts)
    places = {name: tensor.data_ptr() for name, tensor in tensors_of(trial.parts.model).items()}
    drawn = torch.get_rng_state()
    point = RestorePoint(trial.parts)
    take(trial, steps_before)
    once = everything(trial.parts)
    take(trial, steps_before + 1, rate=10.0)
    point.restore()
    after = everything(trial.parts)
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    assert all(not tensor.any() for name, tensor in after.items() if name not in before)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert places == {name: tensor.data_ptr() for name, tensor in tensors_of(trial.parts.model).items()}
    take(trial, steps_before)
    again = everything(trial.parts)
    assert all(torch.equal(again[name], tensor) for name, tensor in once.items())


def test_a_run_is_tried_from_its_checkpoint_and_not_changed(trained_run):
    files = {path: path.stat().st_mtime_ns for path in trained_run.rglob("*") if path.is_file()}
    with opened(f"{trained_run}@20", ["step.tokens_per_micro_batch=64"], progress=Silent()) as trial:
        assert trial.state.step == 20
        assert trial.parts.recipe.step.tokens_per_micro_batch == 64
        take(trial, 0)
    assert files == {path: path.stat().st_mtime_ns for path in trained_run.rglob("*") if path.is_file()}
    with (
        pytest.raises(InputError, match="keeps its data"),
        opened(trained_run, ["data.max_tokens=16"], progress=Silent()),
    ):
        pass


def test_batches_are_those_of_the_next_steps_each_time(tmp_path):
    with opened(small_recipe(tmp_path, **TINY), progress=Silent()) as trial:
        first, second = trial.batches(2), trial.batches(2)
        sizes = [[pack.num_targets for pack in packs] for packs in first]
        assert sizes == [[pack.num_targets for pack in packs] for packs in second]
        assert trial.parts.recipe.guard.outliers is False

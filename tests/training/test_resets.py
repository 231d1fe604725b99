import math
import re
import shutil
from dataclasses import replace

import pytest
from safetensors.torch import load_file

from tests.short_run import log, model_sha, newest_state
from tests.small_run import TRAIN_PAIRS, small_pairs, small_recipe, write_pairs
from tests.training.small_line import Told
from trimtab.checkpoint.step_folders import step_name
from trimtab.config.load import load_recipe
from trimtab.config.resets import RESETS
from trimtab.errors import InputError, RunFailed
from trimtab.launch import train
from trimtab.replaying.replay import replay
from trimtab.run_clock import RunClock
from trimtab.training.resets import kept_by_the_guard, with_resets
from trimtab.types import TrainState

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


class Heard(Told):
    """Keeps the lines that a run says."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def message(self, text):
        self.lines.append(text)


def go_on(run, recipe, *overrides, **options):
    """Resumes for a few steps more; gives the result and what was said."""
    heard = Heard()
    result = train(recipe, overrides=overrides, out=run, resume=True, progress=heard, **options)
    return result, heard.lines


# A change of a setting, and the one reset that lets it pass.
CHANGED = {
    "model.dropout=0.3": "optimizer",
    "step.optimizer.learning_rate=0.001": "learning_rate",
    "seed=2": "data",
}
MORE_CHANGED = {
    "step.optimizer.betas=[0.8, 0.9]": "optimizer",
    "step.optimizer={kind: sgd, learning_rate: 0.01}": "optimizer",
    "step.ema={decay: 0.9}": "optimizer",
    "step.clip.at=0.5": "optimizer",
    "loss.label_smoothing=0.2": "optimizer",
    "step.schedule.kind=constant": "schedule",
    "data.max_tokens=30": "data",
    "step.tokens_per_step=128": "data",
    "data.temperature=2": "data",
}
EACH = [*CHANGED.items(), *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE_CHANGED.items())]
FEW_STEPS = {"schedule": ["length=2 steps", "step.schedule.warmup=1 steps"]}


@pytest.mark.quick("seed=2-data")
@pytest.mark.parametrize(("override", "reset"), EACH)
def test_a_refusal_names_the_reset_that_works(copied_run, override, reset):
    run, recipe = copied_run
    length = FEW_STEPS.get(reset, ["length=62 steps"])
    assert offered(run, recipe, override, *length) == {reset}
    result, lines = go_on(run, recipe, override, *length, reset=reset)
    assert result.state.step == 62
    kept = [line.split(":")[0] for line in lines if line.startswith(("kept", "reset"))]
    others = [f"{'reset' if each == reset else 'kept'} {each}" for each in RESETS]
    assert kept == ["kept weights", *others]


def offered(run, recipe, *overrides):
    """What refusals offer to reset."""
    with pytest.raises(InputError) as caught:
        go_on(run, recipe, *overrides)
    return {
        found[1]
        for each in caught.value.problems
        if (found := re.search(r"--resume --reset ([\w,]+)`", each.fix))
    }


@pytest.mark.slow
def test_a_refusal_names_all_resets_together(copied_run):
    run, recipe = copied_run
    changes = [*CHANGED, *FEW_STEPS["schedule"]]
    assert offered(run, recipe, *changes) == {"optimizer,schedule,data"}
    result, _ = go_on(run, recipe, *changes, reset="optimizer,schedule,data")
    assert result.state.step == 62


def test_what_makes_it_another_run_has_no_reset(copied_run):
    run, recipe = copied_run
    with pytest.raises(InputError) as caught:
        go_on(run, recipe, "model.dim=64", reset="optimizer,schedule,data,best")
    assert all("--reset" not in each.fix and "warm_start" in each.fix for each in caught.value.problems)


@pytest.mark.slow
def test_a_reset_is_on_the_disk_before_the_first_step_and_holds_without_being_said_again(
    copied_run, trained_run, tmp_path
):
    run, recipe = copied_run
    change = ("loss.label_smoothing=0.2", "length=61 steps")
    weights = model_sha(run, 60)

    class Kill(Told):
        def step(self, metrics, **_):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(recipe, overrides=change, out=run, resume=True, reset=["optimizer"], progress=Kill())
    assert newest_state(run).origin["reset_at"] == 60
    assert model_sha(run, 60) == weights
    assert load_recipe(run / "recipe.yaml").recipe.loss.label_smoothing == 0.2
    result, lines = go_on(run, recipe, *change)
    assert result.state.step == 61
    assert not [line for line in lines if line.startswith("reset")]
    undisturbed = shutil.copytree(trained_run, tmp_path / "undisturbed")
    go_on(undisturbed, recipe, *change, reset="optimizer")
    assert model_sha(undisturbed, 61) == model_sha(run, 61)


@pytest.mark.slow
def test_the_moments_begin_anew_and_the_weights_stay(copied_run):
    run, recipe = copied_run
    go_on(run, recipe, "length=61 steps", reset="optimizer")
    moments = load_file(run / "checkpoints" / step_name(61) / "optimizer.safetensors")
    assert {float(value) for name, value in moments.items() if name.endswith(".step")} == {1.0}


@pytest.mark.slow
def test_another_learning_rate_is_the_peak_of_the_schedule_that_continues(copied_run):
    run, recipe = copied_run
    before = log(run, "metrics")[-1]["learning_rate"]
    change = ("length=62 steps", "step.optimizer.learning_rate=0.001")
    _, lines = go_on(run, recipe, *change, reset="learning_rate")
    rates = [line["learning_rate"] for line in log(run, "metrics")][60:]
    assert rates == pytest.approx(
        [0.001 * 2 / 52, 0.001 / 52]
    )  # the last two of 62 steps, after a warmup of 10
    said = next(line for line in lines if line.startswith("reset learning_rate"))
    assert f"it was {before:.2g} at step 60" in said


@pytest.mark.slow
def test_the_schedule_counts_from_the_checkpoint_with_its_warmup_and_length(copied_run):
    run, recipe = copied_run
    change = ("length=8 steps", "step.schedule.warmup=4 steps", "step.optimizer.learning_rate=0.004")
    result, _ = go_on(run, recipe, *change, reset="schedule")
    assert result.state.step == 68
    rates = [line["learning_rate"] for line in log(run, "metrics")][60:]
    assert rates == pytest.approx([0.001, 0.002, 0.003, 0.004, 0.004, 0.003, 0.002, 0.001])


@pytest.mark.slow
def test_other_data_begin_with_their_first_example_and_the_schedule_goes_on(tmp_path, copied_run):
    run, _ = copied_run
    recipe = small_recipe(tmp_path / "new")
    write_pairs(tmp_path / "new", "train", small_pairs(TRAIN_PAIRS // 2, seed=7))
    result, lines = go_on(run, recipe, "length=62 steps", reset="data")
    assert result.state.position < 100
    assert result.state.origin["epochs"] < 0
    assert "reset data: starts with the first example; 100 pairs an epoch" in lines
    (corpus,) = result.state.data["corpora"]
    assert corpus["seen"] < 100
    # Of the way down from step 10 to step 62.
    rates = [line["learning_rate"] for line in log(run, "metrics")][60:]
    assert rates == pytest.approx([0.01 * 2 / 52, 0.01 * 1 / 52])


@pytest.mark.slow
def test_the_best_is_forgotten_only_where_it_is_said(copied_run):
    run, recipe = copied_run
    result, lines = go_on(run, recipe, "length=61 steps")
    before = result.state.best
    assert not [line for line in lines if line.startswith(("kept", "reset"))]
    assert result.state.origin == {}
    _, lines = go_on(run, recipe, "length=62 steps", reset="best")
    value = f"chrf {before['value']:g} of step {before['step']}"
    assert f"reset best: {value} is forgotten" in lines
    assert newest_state(run).best["step"] == 62


@pytest.mark.slow
def test_a_longer_sentence_than_the_learned_positions_hold_is_refused(tmp_path):
    changes = {"model.positions": "learned", "length": "2 steps", "step.schedule.warmup": "1 steps"}
    recipe = small_recipe(tmp_path, **changes, **{"evaluate.every": "9 steps"})
    run = train(recipe, out=tmp_path / "run").run
    with pytest.raises(InputError, match=r"position.* has another size than in the checkpoint"):
        go_on(run, recipe, "data.max_tokens=120", reset="data")


def test_other_data_are_checked_before_the_run_is_touched(tmp_path, copied_run):
    run, recipe = copied_run
    before = (run / "recipe.yaml").read_bytes()
    filtered = "data.transforms=[{kind: length, min: 6}]"
    with pytest.raises(RunFailed, match="D202"):
        go_on(run, recipe, filtered, reset="data")
    assert (run / "recipe.yaml").read_bytes() == before
    assert newest_state(run).origin == {}


@pytest.mark.slow
def test_where_nothing_was_saved_there_is_nothing_to_reset(tmp_path):
    changes = {"length": "2 steps", "step.schedule.warmup": "1 steps", "evaluate.every": "9 steps"}
    recipe, run = small_recipe(tmp_path, **changes), tmp_path / "run"

    class Kill(Told):
        def step(self, metrics, **_):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(recipe, out=run, progress=Kill())
    result, lines = go_on(run, recipe, reset="data")
    assert (result.state.step, result.state.origin) == (2, {})
    assert "there is no checkpoint yet, so there is nothing to reset" in lines


@pytest.mark.slow
def test_a_replay_does_not_cross_a_reset(copied_run):
    run, recipe = copied_run
    go_on(run, recipe, "length=62 steps", "loss.label_smoothing=0.2", reset="optimizer")
    assert replay(run, step=62).started_from == 60
    with pytest.raises(InputError, match="there is no step 50 since the reset at step 60"):
        replay(run, step=50)


CLOCK = RunClock(positions_per_epoch=100)
STATE = TrainState(
    step=10, position=250, target_tokens=5000, seconds=60.0, guard={"gate": {}, "masked": [], "clip": {}}
)


@pytest.mark.parametrize("unit", ["steps", "tokens", "epochs", "minutes"])
def test_every_unit_goes_on_or_begins_anew_with_the_schedule_alone(unit):
    done = CLOCK.done(unit, STATE)
    for reset, left in (("data", done), ("best", done), ("schedule", 0.0)):
        assert CLOCK.done(unit, with_resets(STATE, [reset], clock=CLOCK, epoch=2.5)) == pytest.approx(left)
    both = with_resets(STATE, ["schedule", "data"], clock=CLOCK, epoch=math.nan)
    assert CLOCK.done(unit, both) == pytest.approx(0.0)
    twice = with_resets(replace(both, step=20, position=80), ["data"], clock=CLOCK, epoch=0.8)
    assert CLOCK.done("epochs", twice) == pytest.approx(0.8)


def test_without_resets_a_state_stays_as_it_is():
    assert with_resets(STATE, [], clock=CLOCK, epoch=2.5) is STATE


def test_the_guard_forgets_what_no_longer_holds():
    assert {*kept_by_the_guard(STATE.guard, ["optimizer"])} == {"masked"}
    assert {*kept_by_the_guard(STATE.guard, ["data"])} == set()
    assert {*kept_by_the_guard(STATE.guard, ["schedule", "best"])} == {"gate", "masked", "clip"}


def test_a_reset_that_no_checkpoint_would_hold_is_refused(copied_run):
    run, recipe = copied_run
    with pytest.raises(InputError, match="kept in a checkpoint, and this run writes none"):
        go_on(run, recipe, "checkpoint.write=false", reset=("optimizer",))

from dataclasses import replace

import pytest

from tests.language_run import language_parts
from tests.small_run import small_parts, small_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.errors import RunFailed
from trimtab.launch import train
from trimtab.training.refreshes import few_refreshes, few_refreshes_so_far, steps_of
from trimtab.types import TrainState

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

SELDOM = {"step.ema": {"decay": 0.9, "every": 20}, "evaluate.weights": "ema"}


def lasting(parts, length):
    recipe = parts.recipe.model_validate(parts.recipe.model_dump() | {"length": length})
    return replace(parts, recipe=recipe)


@pytest.mark.parametrize("parts_of", [small_parts, language_parts], ids=["translation", "language_model"])
@pytest.mark.parametrize("unit", ["epochs", "tokens"])
def test_a_length_in_epochs_or_tokens_is_judged_by_the_steps_that_it_makes(tmp_path, parts_of, unit):
    parts = parts_of(tmp_path, **{**SELDOM, "length": "100000 tokens"})
    per_epoch = parts.datasets.targets_per_epoch if unit == "epochs" else 1
    per_step = parts.recipe.step.tokens_per_step / per_epoch

    def judged(refreshes):
        count = max(1, round(20 * refreshes * per_step))
        return [each.code for each in few_refreshes(lasting(parts, f"{count} {unit}"))]

    assert judged(1) == ["S213"]
    assert judged(60) == []  # 0.9 ** 60 is below a hundredth


@pytest.mark.slow
def test_steps_are_about_those_that_the_run_makes(tmp_path):
    growing = {"step.batch_warmup": {"start": 64, "over": "20 steps"}}
    for changes in ({}, growing):
        parts = small_parts(tmp_path / str(len(changes)), **changes, length="12 epochs")
        taken, positions = 0, parts.clock.positions_per_epoch * 12
        for window, _ in parts.stream.host_batches(0):
            taken += 1
            if window.position >= positions:
                break
        assert steps_of(parts, 12 * parts.datasets.targets_per_epoch) == pytest.approx(taken, rel=0.1)


def test_minutes_are_judged_by_the_pace_and_not_too_early(tmp_path):
    parts = small_parts(tmp_path, **SELDOM, length="10 minutes")
    slow, fast = TrainState(step=30, seconds=330.0), TrainState(step=3000, seconds=330.0)
    (found,) = few_refreshes_so_far(parts, slow)
    assert found.code == "S213"
    assert found.message.startswith("10 minutes are about ")
    assert list(few_refreshes_so_far(parts, fast)) == []
    assert list(few_refreshes_so_far(parts, replace(slow, seconds=200.0))) == []
    assert list(few_refreshes(parts)) == []


def test_without_an_average_and_from_trained_weights_nothing_is_found(tmp_path):
    parts = small_parts(tmp_path, length="2 epochs")
    assert list(few_refreshes(parts)) == []
    kept = small_parts(tmp_path / "kept", **SELDOM, length="2 epochs")
    assert [each.code for each in few_refreshes(kept)] == ["S213"]
    warm = kept.recipe.model_copy(
        update={"model": kept.recipe.model.model_copy(update={"warm_start": "run"})}
    )
    assert list(few_refreshes(replace(kept, recipe=warm))) == []


def test_a_run_of_few_epochs_ends_before_its_first_step(tmp_path):
    recipe = small_recipe(tmp_path, **SELDOM, length="2 epochs")
    with pytest.raises(RunFailed):
        train(recipe, out=tmp_path / "run")
    told = [each["code"] for each in read_journal(tmp_path / "run" / "findings.jsonl")]
    assert "S213" in told

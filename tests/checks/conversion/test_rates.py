import math

import pytest

from tests.checks.conversion.made import OPENNMT, made, recipe


def changed(**lines):
    text = OPENNMT
    for key, value in lines.items():
        old = next((line for line in text.splitlines() if line.startswith(f"{key}:")), None)
        text = text.replace(old, f"{key}: {value}") if old else text + f"{key}: {value}\n"
    return text


def test_adam_is_adamw_without_decay():
    optimizer = recipe(OPENNMT).step.optimizer
    assert (optimizer.kind, optimizer.betas, optimizer.eps, optimizer.weight_decay) == (
        "adamw",
        (0.9, 0.998),
        1e-8,
        0,
    )


def test_the_effective_peak_of_noam_stands_behind_it():
    schedule = recipe(OPENNMT).step.schedule
    assert (schedule.kind, schedule.warmup.steps) == ("noam", 8000)
    peak = 2 / math.sqrt(512 * 8000)
    assert f"peak {peak:.3g} = 2 / sqrt(512 * 8000)" in made(OPENNMT).recipe_text


def test_rsqrt_gets_the_rate_that_it_has_at_its_highest():
    step = recipe(changed(decay_method="rsqrt", learning_rate="1.0", warmup_steps="400")).step
    assert (step.schedule.kind, step.schedule.warmup.steps) == ("inverse_sqrt", 400)
    assert step.optimizer.learning_rate == pytest.approx(1 / 20)


def test_plain_sgd_stays_plain():
    step = recipe(changed(optim="sgd", learning_rate="1.0", decay_method="none")).step
    assert (step.optimizer.kind, step.optimizer.momentum, step.optimizer.learning_rate) == ("sgd", 0.0, 1.0)
    assert step.schedule.kind == "constant"


def test_a_step_decay_that_begins_within_the_run_is_named():
    text = made(changed(decay_method="none", train_steps="60000")).recipe_text
    assert "cut again and again after step 50000" in text


def test_an_optimizer_without_counterpart_is_named():
    conversion = made(changed(optim="adadelta", decay_method="none"))
    assert any("adadelta has no counterpart" in note for note in conversion.notes)
    assert recipe(changed(optim="adadelta", decay_method="none")).step.optimizer.kind == "adamw"


def test_a_warmup_longer_than_the_run_is_shortened_and_said():
    text = changed(train_steps="1000")
    assert recipe(text).step.schedule.warmup.steps == 50
    assert any("longer than the run" in note for note in made(text).notes)


def test_a_rate_beyond_all_bounds_is_left_out_and_said():
    text = changed(learning_rate="-1", decay_method="none", optim="adam")
    assert recipe(text).step.optimizer.learning_rate == 5e-4
    assert any("outside what a recipe allows" in note for note in made(text).notes)

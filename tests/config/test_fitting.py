import pytest

from tests.for_each import for_each
from trimtab.config.fitting import fitted
from trimtab.config.load import parse_recipe
from trimtab.config.render import render_recipe
from trimtab.errors import InputError

PLAIN = "data: {train: [{source: a, target: b}]}\nmodel: {preset: tiny}\nlength: 400 steps\n"


def loaded(*overrides):
    return parse_recipe(PLAIN, overrides=overrides)


@for_each(
    ("length", "kind", "warmup"),
    [
        ("400 steps", "linear_warmup", "20 steps"), ("5 steps", "cosine", "1 steps"),
        ("3000 steps", "inverse_sqrt", "150 steps"), ("499 steps", "exponential", "24 steps"),
        ("500 steps", "linear_warmup", "500 steps"), ("1 epochs", "linear_warmup", "500 steps"),
        ("4 steps", "constant", "None"), ("4 steps", "one_cycle", "None"),
    ],
)  # fmt: skip
def test_a_default_warmup_longer_than_the_run_becomes_a_twentieth_of_it(length, kind, warmup):
    made = loaded(f"length={length}", f"step.schedule.kind={kind}")
    assert str(made.recipe.step.schedule.warmup) == warmup
    assert len([note for note in made.notes if note.startswith("step.")]) == (
        warmup not in ("500 steps", "None")
    )


def test_a_note_says_what_was_filled_in_and_why():
    assert loaded().notes == (
        "step.schedule.warmup is set to 20 steps, since its default, 500 steps, is longer than the run, 400 steps",
    )


def test_the_recipe_that_is_kept_has_it_written_out_and_reads_back_without_a_note():
    text = render_recipe(loaded().recipe)
    assert "warmup: 20 steps" in text
    again = parse_recipe(text)
    assert again.notes == ()
    assert again.recipe == loaded().recipe


def test_it_does_not_count_as_written():
    made = loaded().recipe
    assert "warmup" not in made.step.schedule.model_fields_set
    assert fitted(made) == (made, ())


@pytest.mark.parametrize("override", ["step.schedule.warmup=500 steps", "step.schedule.kind=noam"])
def test_what_is_written_and_what_a_peak_follows_from_is_refused_as_it_was(override):
    with pytest.raises(InputError, match="the warmup is longer than the run"):
        loaded(override)


VALID = "data.valid={dev: {source: c, target: d}}"


@for_each(
    ("length", "every"),
    [
        ("400 steps", "40 steps"), ("5 steps", "1 steps"), ("499 steps", "49 steps"), ("1 steps", "1 steps"),
        ("500 steps", "500 steps"), ("3000 steps", "500 steps"), ("2 epochs", "500 steps"),
    ],
)  # fmt: skip
def test_evaluations_that_nobody_wrote_come_in_a_short_run_too_without_a_word(length, every):
    made = loaded(f"length={length}", VALID, "step.schedule.kind=constant")
    assert str(made.recipe.evaluate.every) == every
    assert made.notes == ()
    assert "every" not in made.recipe.evaluate.model_fields_set
    assert fitted(made.recipe) == (made.recipe, ())


def test_evaluations_that_may_end_the_run_stay_as_usual():
    made = loaded(VALID, "evaluate.patience=3", "step.schedule.kind=constant")
    assert str(made.recipe.evaluate.every) == "500 steps"
    assert made.notes == (
        "evaluate.patience has no effect: evaluate.every, 500 steps, is longer than the run, 400 steps",
    )


@pytest.mark.parametrize("every", ["500 steps", "401 steps"])
def test_written_evaluations_that_never_come_stay_and_are_told(every):
    made = loaded(VALID, f"evaluate.every={every}", "step.schedule.kind=constant")
    assert str(made.recipe.evaluate.every) == every
    assert made.notes == (
        f"evaluate.every, {every}, is longer than the run, 400 steps: the only evaluation is at its end",
    )


@pytest.mark.parametrize(
    "overrides",
    [("evaluate.every=400 steps", VALID), ("evaluate.every=9 epochs", VALID), ("evaluate.every=500 steps",)],
)
def test_nothing_is_told_of_evaluations_that_come_or_of_which_there_are_none(overrides):
    assert loaded("step.schedule.kind=constant", *overrides).notes == ()

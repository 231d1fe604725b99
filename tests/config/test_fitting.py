import pytest

from trimtab.config.fitting import fitted
from trimtab.config.load import parse_recipe
from trimtab.config.render import render_recipe
from trimtab.errors import InputError

PLAIN = "data: {train: [{source: a, target: b}]}\nmodel: {preset: tiny}\nlength: 400 steps\n"


def loaded(*overrides):
    return parse_recipe(PLAIN, overrides=overrides)


@pytest.mark.parametrize(
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
    assert len(made.notes) == (warmup not in ("500 steps", "None"))


def test_a_note_says_what_was_filled_in_and_why():
    assert loaded().notes == (
        "step.schedule.warmup is 20 steps: the default, 500 steps, is longer than the run, 400 steps",
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

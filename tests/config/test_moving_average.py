import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.load import parse_recipe
from trimtab.config.moving_average import MOST_OF_FIRST_WEIGHTS, of_first_weights
from trimtab.config.step import Ema
from trimtab.errors import InputError

RECIPE = """\
data:
  train: [{source: a.en, target: a.de}]
model: {preset: tiny}
length: 100 steps
step: {schedule: {kind: linear_warmup, warmup: 5 steps}, ema: {decay: 0.999, every: 50}}
"""


def test_an_average_that_is_mostly_the_first_weights_is_refused_where_the_recipe_tells_its_steps():
    with pytest.raises(InputError, match="initial weights") as caught:
        parse_recipe(RECIPE)
    assert caught.value.problems[0].got == "every 50 updates, so 2 refreshes in 100 steps"
    assert parse_recipe(RECIPE, overrides=["step.ema.every=1"]).recipe.step.ema.every == 1


@given(st.floats(0.0, 0.9999), st.integers(0, 200), st.booleans())
def test_the_share_of_the_first_weights_is_that_of_the_average_itself(decay, refreshes, warmup):
    mean = 1.0  # of first weights that are one and trained ones that are nothing
    for t in range(1, refreshes + 1):
        d = min(decay, (1 + t) / (10 + t)) if warmup else decay
        mean = d * mean
    share = of_first_weights(Ema(decay=decay, warmup=warmup), refreshes)
    assert share == pytest.approx(mean) or (mean <= share <= MOST_OF_FIRST_WEIGHTS)


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        (["length=10 steps"], "lower `step.ema.every`"),
        (["length=2 steps", "step.ema.every=1"], "raise `length`, or keep no average"),
        (
            ["step.ema.every=1", "step.ema.warmup=false", "step.ema.decay=0.9999"],
            "leave `step.ema.warmup` on",
        ),
    ],
)
def test_the_fix_is_one_that_is_left(given, fix):
    with pytest.raises(InputError) as caught:
        parse_recipe(RECIPE, overrides=[*given, "step.schedule.warmup=1 steps"])
    assert fix in "\n".join(problem.fix for problem in caught.value.problems)
    if "keep no average" in fix:
        parse_recipe(RECIPE, overrides=["length=2 steps", "step.ema=null", "step.schedule.warmup=1 steps"])

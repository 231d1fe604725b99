import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.run import Recipe
from trimtab.units import Duration

SMALLEST = {
    "data": {"train": [{"source": "a", "target": "b"}]},
    "model": {"preset": "tiny"},
    "length": "1 steps",
}


def test_three_keys_make_a_recipe():
    recipe = Recipe.model_validate(SMALLEST)
    assert recipe.length == Duration(1, "steps")
    assert recipe.evaluate.every == Duration(500, "steps")
    assert recipe.evaluate.best.metric in recipe.evaluate.metrics


@pytest.mark.parametrize("key", SMALLEST)
def test_each_of_the_three_is_needed(key):
    with pytest.raises(ValidationError, match="Field required"):
        Recipe.model_validate({name: value for name, value in SMALLEST.items() if name != key})


@for_each(
    "values",
    [
        {"length": "0 steps"},
        {"seed": -1},
        {"seed": 2**63},
        {"task": "parsing"},
        {"evaluate": {"beam": 0}},
        {"evaluate": {"patience": 0}},
        {"evaluate": {"patience": 3, "stop_on": {}}},
        {"evaluate": {"patience": 3, "stop_on": {"any": ["loss"], "all": ["loss"]}}},
        {"evaluate": {"patience": 3, "stop_on": {"all": ["rouge"]}}},
        {"checkpoint": {"keep": 0}},
    ],
)
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValidationError):
        Recipe.model_validate({**SMALLEST, **values})

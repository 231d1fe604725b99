import pytest

from tests.for_each import for_each
from trimtab.config.load import parse_recipe
from trimtab.config.mixture_of_depths import MixtureOfDepths
from trimtab.errors import InputError


@for_each(("tokens", "computed"), [(1, 1), (10, 1), (11, 2), (1000, 100), (0, 0)])
def test_a_capacity_is_rounded_up_by_its_decimal_digits(tokens, computed):
    assert MixtureOfDepths(capacity=0.1).computes(tokens) == computed


RECIPE = """
task: language_model
data: {train: [{text: a}]}
model: {kind: decoder, preset: tiny, mixture_of_depths: {capacity: 0.25}}
length: 9 steps
"""


@for_each(
    ("override", "message"),
    [
        (["model.mixture_of_depths.interval=5"], "no layer would have a router"),
        (["model.prefix=bidirectional"], "routers are causal"),
        (["model.mup_base_dim=64"], "muP has no rule for routers"),
        (["model.warm_start=run", "adapter={rank: 2}"], "adapters do not support `model.mixture_of_depths`"),
        (["model.mixture_of_depths.capacity=1"], "less than 1"),
    ],
)
def test_what_cannot_go_with_routers_is_refused_by_name(override, message):
    assert parse_recipe(RECIPE).recipe.model.mixture_of_depths.interval == 2
    with pytest.raises(InputError, match=message):
        parse_recipe(RECIPE, overrides=override)

import pytest

from tests.for_each import for_each
from trimtab.config.experts import Experts, check_experts
from trimtab.config.load import parse_recipe
from trimtab.errors import InputError

RECIPE = """
task: translation
data: {train: [{source: a, target: b}]}
model: {preset: tiny}
length: 9 steps
"""


def refused(*overrides):
    with pytest.raises(InputError) as raised:
        parse_recipe(RECIPE, overrides=list(overrides))
    return str(raised.value)


def test_more_active_experts_than_there_are_is_refused():
    assert Experts(count=2, active=2).active == 2
    assert "exceeds the number of experts" in refused("model.experts={count: 2, active: 3}")


@for_each(("key", "width"), [("dim", 20), ("feed_forward", 44)])
def test_widths_that_no_grouped_product_takes_are_refused(key, width):
    sizes = {"dim": 32, "feed_forward": 48} | {key: width}
    check_experts(None, dim=sizes["dim"], feed_forward=(sizes["feed_forward"],))
    with pytest.raises(ValueError, match="multiple of 8"):
        check_experts(Experts(), dim=sizes["dim"], feed_forward=(sizes["feed_forward"],))


def test_what_has_no_rule_for_experts_refuses_them_by_name():
    experts = "model.experts={count: 4}"
    assert "muP has no rule for routers" in refused(experts, "model.mup_base_dim=64")
    assert "adapters" in refused(experts, "model.warm_start=run", "adapter={rank: 2}", "model.preset=tiny")

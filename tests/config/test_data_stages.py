import pytest
from pydantic import ValidationError

from trimtab.config.data import Stage
from trimtab.units import Duration


def refused(**fields):
    with pytest.raises(ValidationError) as caught:
        Stage.model_validate(fields)
    return str(caught.value)


def test_a_stage_says_where_it_ends_and_what_the_corpora_weigh():
    stage = Stage.model_validate({"until": "2000 steps", "weights": {"news": 0, "crawl": 1.5}})
    assert stage.until == Duration(2000, "steps")
    assert stage.weights == {"news": 0.0, "crawl": 1.5}
    assert Stage(weights={"news": 4.0}).until is None


@pytest.mark.parametrize("until", ["2 epochs", "1M tokens", "30 minutes"])
def test_only_steps_can_end_a_stage(until):
    assert "a number of steps" in refused(until=until, weights={"news": 1})


@pytest.mark.parametrize("weight", [-0.1, 1001])
def test_a_weight_out_of_range_is_named_with_its_corpus(weight):
    assert f"news: {weight}" in refused(weights={"news": weight})


def test_a_stage_without_weights_is_none():
    assert "weights" in refused(weights={})

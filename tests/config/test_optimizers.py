import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from tests.optimizer_kinds import EVERY_KIND, OPTIMIZERS
from trimtab.config.optimizers import OptimizerSettings, kinds_where
from trimtab.config.step import StepConfig


@pytest.mark.parametrize("kind", [each for each in OPTIMIZERS if "betas" in each.model_fields])
@pytest.mark.parametrize("beta", [1.0, -0.1])
def test_betas_are_below_one(kind, beta):
    for number, usual in enumerate(kind().betas):
        with pytest.raises(ValidationError, match="below 1"):
            kind(betas=[beta if i == number else usual for i in range(len(kind().betas))])


@pytest.mark.parametrize(
    "optimizer", [{"learning_rate": 0}, {"kind": "tiger"}, {"kind": "sgd", "betas": [0, 0]}]
)
def test_values_out_of_range_are_refused(optimizer):
    with pytest.raises(ValidationError):
        StepConfig.model_validate({"optimizer": optimizer})


@for_each("kind", EVERY_KIND)
def test_every_optimizer_has_multipliers_by_role_and_all_are_one_by_default(kind):
    def multipliers(**written):
        return StepConfig.model_validate(
            {"optimizer": {"kind": kind, **written}}
        ).optimizer.learning_rate_multipliers

    assert set(multipliers().model_dump(exclude={"names"}).values()) == {1.0}
    assert multipliers(learning_rate_multipliers={"hidden": 0.25}).hidden == 0.25
    for wrong in ({"hidden": 0}, {"hidden": -1}, {"hidden": float("nan")}, {"matrices": 1}):
        with pytest.raises(ValidationError):
            multipliers(learning_rate_multipliers=wrong)


@for_each("kind", OPTIMIZERS)
def test_every_optimizer_gives_each_fact_that_other_parts_ask_for(kind):
    for fact, annotation in OptimizerSettings.__annotations__.items():
        value = getattr(kind, fact, None)
        assert value is not None, f"{kind.__name__} says nothing of {fact}"
        assert type(value).__name__ in str(annotation)


def test_a_message_lists_the_kinds_of_which_something_holds():
    assert kinds_where(lambda each: each.moments == 3) == "ademamix"
    assert kinds_where(lambda each: each.moments == 1) == "lion, sgd or muon"

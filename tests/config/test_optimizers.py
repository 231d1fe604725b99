import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from tests.optimizer_kinds import EVERY_KIND, OPTIMIZERS
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

import pytest
from pydantic import ValidationError

from trimtab.config.optimizers import Adafactor
from trimtab.config.run import Recipe
from trimtab.config.settings import Settings, default_kinds
from trimtab.config.step import ClipGlobalNorm, StepConfig


def test_a_group_without_its_kind_has_the_kind_of_the_default():
    step = StepConfig.model_validate({"clip": {"at": 2.0}, "optimizer": {"learning_rate": 1e-3}})
    assert step.clip == ClipGlobalNorm(at=2.0)
    assert step.optimizer.kind == "adamw"


def test_a_kind_that_is_written_stays():
    step = StepConfig.model_validate({"optimizer": {"kind": "adafactor"}})
    assert step.optimizer == Adafactor()
    assert StepConfig(optimizer=Adafactor()).optimizer == Adafactor()


def test_default_kinds_are_those_of_the_defaults():
    assert default_kinds(StepConfig) == {
        "optimizer": "adamw",
        "schedule": "linear_warmup",
        "clip": "global_norm",
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_are_finite(value):
    with pytest.raises(ValidationError):
        ClipGlobalNorm(at=value)


def test_settings_cannot_be_changed_and_know_no_other_keys():
    with pytest.raises(ValidationError):
        ClipGlobalNorm().at = 2.0
    with pytest.raises(ValidationError):
        ClipGlobalNorm.model_validate({"above": 1})


def test_defaults_that_are_not_validated_are_what_validation_makes_of_nothing():
    groups, seen = [Recipe, *Settings.__subclasses__()], 0
    while groups:
        group = groups.pop()
        groups += group.__subclasses__()
        for field in group.model_fields.values():
            default = field.default
            if isinstance(default, Settings):
                seen += 1
                assert default == type(default)(), (group, default)
                assert type(default).model_validate(default.model_dump()) == default, (group, default)
    assert seen > 20

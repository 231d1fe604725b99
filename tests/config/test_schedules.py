import pytest
from pydantic import ValidationError

from trimtab.config.step import StepConfig


def test_lengths_are_read_with_their_unit():
    step = StepConfig.model_validate({"schedule": {"kind": "inverse_sqrt", "warmup": "2k steps"}})
    assert step.schedule.warmup.steps == 2000


@pytest.mark.parametrize(
    "schedule", [{"kind": "cosine", "floor": 1}, {"kind": "noam", "warmup": "1 epochs"}, {"kind": "step"}]
)
def test_values_out_of_range_are_refused(schedule):
    with pytest.raises(ValidationError):
        StepConfig.model_validate({"schedule": schedule})

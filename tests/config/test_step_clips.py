import pytest
from pydantic import ValidationError

from trimtab.config.step import ClipGlobalNorm, StepConfig


@pytest.mark.parametrize("clip", [{"at": 0}, {"kind": "adaptive", "at": 1}, {"kind": "off", "at": 1}])
def test_values_out_of_range_are_refused(clip):
    with pytest.raises(ValidationError):
        StepConfig.model_validate({"clip": clip})


def test_without_a_word_the_whole_gradient_is_bounded():
    assert StepConfig().clip == ClipGlobalNorm()

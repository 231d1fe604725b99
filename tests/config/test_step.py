import pytest
from pydantic import ValidationError

from trimtab.config.step import AdamW, StepConfig


def test_the_micro_batch_is_8192_by_default_and_never_more_than_the_step():
    assert StepConfig().micro_batch_tokens == 8192
    assert StepConfig(tokens_per_step=1000).micro_batch_tokens == 1000
    assert StepConfig(tokens_per_step=1000, tokens_per_micro_batch=300).micro_batch_tokens == 300
    assert StepConfig(tokens_per_step=1000, tokens_per_micro_batch=3000).micro_batch_tokens == 1000


@pytest.mark.parametrize("betas", [(0.9, 1.0), (-0.1, 0.9)])
def test_betas_are_below_one(betas):
    with pytest.raises(ValidationError, match="below 1"):
        AdamW(betas=betas)


@pytest.mark.parametrize(
    "values",
    [
        {"tokens_per_step": 0},
        {"tokens_per_micro_batch": 0},
        {"precision": "fp8"},
        {"optimizer": {"learning_rate": 0}},
        {"optimizer": {"kind": "tiger"}},
        {"schedule": {"kind": "cosine", "floor": 1}},
        {"clip": {"at": 0}},
        {"compile": "perhaps"},
        {"weight_clip": 0.99},
    ],
)
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValidationError):
        StepConfig.model_validate(values)


def test_lengths_are_read_with_their_unit():
    step = StepConfig.model_validate({"schedule": {"kind": "inverse_sqrt", "warmup": "2k steps"}})
    assert step.schedule.warmup.steps == 2000

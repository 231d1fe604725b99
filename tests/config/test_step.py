import pytest
from pydantic import ValidationError

from trimtab.config.problems import complaints_about
from trimtab.config.step import StepConfig


def test_the_micro_batch_is_8192_by_default_and_never_more_than_the_step():
    assert StepConfig().micro_batch_tokens == 8192
    assert StepConfig(tokens_per_step=1000).micro_batch_tokens == 1000
    assert StepConfig(tokens_per_step=1000, tokens_per_micro_batch=300).micro_batch_tokens == 300
    assert StepConfig(tokens_per_step=1000, tokens_per_micro_batch=3000).micro_batch_tokens == 1000


@pytest.mark.parametrize(
    "values",
    [
        {"tokens_per_step": 0},
        {"tokens_per_micro_batch": 0},
        {"precision": "fp8"},
        {"compile": "perhaps"},
        {"weight_clip": 0.99},
    ],
)
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValidationError):
        StepConfig.model_validate(values)


def complaints(**step):
    tree = {"data": {"train": [{"source": "a", "target": "b"}]}, "model": {"preset": "tiny"}, "step": step}
    return complaints_about({**tree, "length": "10 steps"})


def test_steps_may_grow_to_their_size():
    step = StepConfig.model_validate({"batch_warmup": {"start": 4096, "over": "500 steps"}})
    assert (step.batch_warmup.start, step.batch_warmup.shape) == (4096, "linear")
    assert StepConfig().batch_warmup is None


@pytest.mark.parametrize(
    ("warmup", "path", "fix"),
    [
        ({"start": 40000}, "step.batch_warmup", "set `batch_warmup.start` to 4096"),
        ({"start": 4096, "over": "1 epochs"}, "step.batch_warmup.over", "write it in steps"),
    ],
)
def test_a_warmup_of_the_batch_begins_below_it_and_is_counted_in_steps(warmup, path, fix):
    (found,) = complaints(batch_warmup=warmup)
    assert found.path == path
    assert fix in found.fix
    assert found.got
    assert found.allowed


@pytest.mark.parametrize(
    ("more", "got"),
    [
        ({"optimizer": {"kind": "lion"}}, "bf16 with optimizer lion"),
        ({"ema": {}}, "bf16 with optimizer adamw and ema"),
    ],
)
def test_narrow_weights_are_for_adamw_alone(more, got):
    (found,) = complaints(precision="bf16", **more)
    assert (found.path, found.got) == ("step.precision", got)
    assert StepConfig(precision="bf16").precision == "bf16"

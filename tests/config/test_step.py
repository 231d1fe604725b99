import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.problems import complaints_about
from trimtab.config.step import StepConfig


def test_the_micro_batch_is_8192_by_default_and_never_more_than_the_step():
    assert StepConfig().micro_batch_tokens == 8192
    assert StepConfig(tokens_per_step=1000).micro_batch_tokens == 1000
    assert StepConfig(tokens_per_step=1000, tokens_per_micro_batch=300).micro_batch_tokens == 300
    assert StepConfig(tokens_per_step=1000, tokens_per_micro_batch=3000).micro_batch_tokens == 1000


@for_each(
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


def test_narrow_weights_are_for_every_optimizer_and_no_average():
    (found,) = complaints(precision="bf16", ema={})
    assert (found.path, found.got) == ("step.precision", "bf16 with ema")
    for kind in ("adamw", "lion", "adafactor"):
        assert not complaints(precision="bf16", optimizer={"kind": kind})


@for_each(
    ("changes", "place", "mended"),
    [
        ({"tokens_per_micro_batch": 500}, "gradients", {"tokens_per_step": 500}),
        ({"clip": {"kind": "adaptive"}}, "clip", {"clip": {"kind": "global_norm"}}),
        ({"precision": "fp16_mixed"}, "gradients", {"precision": "bf16_mixed"}),
        ({"ema": {}}, "ema", {"ema": None}),
        ({"weight_clip": 2.0}, "weight_clip", {"weight_clip": None}),
    ],
)
def test_what_released_gradients_would_change_is_refused_and_both_fixes_work(changes, place, mended):
    values = {"gradients": "released", "tokens_per_step": 1000} | changes
    (complaint,) = complaints(**values)
    assert complaint.path == f"step.{place}"
    assert "released" in complaint.got
    assert not complaints(**(values | mended))
    assert not complaints(**(values | {"gradients": "kept"}))


@pytest.mark.parametrize("changes", [{}, {"precision": "bf16"}, {"optimizer": {"states": "8bit"}}])
def test_24_bits_are_refused_without_narrow_weights_and_states(changes):
    values = {**changes, "optimizer": {"kind": "adamw", "weights": "24bit", **changes.get("optimizer", {})}}
    with pytest.raises(ValidationError, match="8 bits to weights in bfloat16"):
        StepConfig.model_validate(values)
    whole = {"precision": "bf16", "optimizer": {"kind": "adamw", "weights": "24bit", "states": "8bit"}}
    StepConfig.model_validate(whole)


@pytest.mark.parametrize(
    ("changes", "mended"),
    [
        ({"optimizer": {"kind": "lion"}}, {"optimizer": {"kind": "adamw"}}),
        ({"optimizer": {"kind": "stable_adamw"}}, {"optimizer": {"kind": "stable_adamw", "states": "8bit"}}),
        ({"cuda_graph": "on"}, {"cuda_graph": "auto"}),
    ],
)
def test_what_has_no_states_for_the_host_is_refused_and_both_fixes_work(changes, mended):
    values = {"offload": "optimizer_states"} | changes
    (complaint,) = complaints(**values)
    assert complaint.path == "step.offload"
    assert "optimizer_states" in complaint.got
    assert not complaints(**(values | mended))
    assert not complaints(**(values | {"offload": "none"}))

import pytest

from tests.checks.conversion.made import OPENNMT, lacking, made, recipe


def test_tokens_of_a_step_are_batch_times_accumulation_times_devices():
    step = recipe(OPENNMT).step
    assert (step.tokens_per_step, step.tokens_per_micro_batch) == (4096 * 4 * 2, 4096)
    assert "batch_size 4096 * 4 accumulated * 2 devices" in made(OPENNMT).recipe_text


def test_sentences_are_estimated_in_tokens():
    text = OPENNMT.replace("batch_type: tokens", "batch_type: sents").replace(
        "batch_size: 4096", "batch_size: 100"
    )
    assert recipe(text).step.tokens_per_micro_batch == 3000
    assert "an estimate" in made(text).recipe_text


def test_a_step_holds_at_least_the_longest_example():
    text = OPENNMT.replace("batch_size: 4096", "batch_size: 8")
    step = recipe(text).step
    assert (step.tokens_per_step, step.tokens_per_micro_batch) == (151, 151)


@pytest.mark.parametrize(("more", "precision"), [("", "fp32"), ("model_dtype: fp16\n", "fp16_mixed")])
def test_precision_is_that_of_the_run(more, precision):
    assert recipe(OPENNMT + more).step.precision == precision


def test_pure_half_precision_keeps_fp32_weights_here():
    text = (
        "src_vocab: v\ntraining: {compute_dtype: bf16, use_amp: false}\nmodel: {architecture: transformer}\n"
    )
    assert recipe(text).step.precision == "bf16_mixed"
    assert "weights stay fp32 here" in made(text).recipe_text


def test_clipping_at_zero_is_off():
    assert recipe(OPENNMT).step.clip.kind == "off"
    assert recipe(OPENNMT.replace("max_grad_norm: 0", "max_grad_norm: 5")).step.clip.at == 5


def test_lengths_intervals_and_seed_are_taken_over():
    whole = recipe(OPENNMT)
    assert (whole.length.steps, whole.evaluate.every.steps, whole.checkpoint.every.steps) == (
        100000,
        5000,
        5000,
    )
    assert (whole.checkpoint.keep, whole.seed) == (5, 3435)


def test_early_stopping_and_the_moving_average_have_counterparts():
    text = OPENNMT + "early_stopping: 4\n"
    assert recipe(text).evaluate.patience == 4
    assert recipe(text).step.ema.decay == pytest.approx(0.9995)
    assert recipe(text + "average_every: 8\n").step.ema.every == 8
    assert not {"early_stopping", "average_decay"} & {*lacking(text)}
    off = OPENNMT.replace("average_decay: 0.0005", "average_decay: 0") + "early_stopping: 0\n"
    assert (recipe(off).evaluate.patience, recipe(off).step.ema) == (None, None)
    nested = "src_vocab: v\ntraining: {early_stopping: 3, compute_dtype: fp32}\nmodel: {architecture: transformer}\n"
    assert recipe(nested).evaluate.patience == 3

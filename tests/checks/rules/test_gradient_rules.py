"""Rules about how gradients are accumulated and clipped: what must keep them silent, and numbers that they tell."""

import pytest

from tests.checks.rules.described_runs import call, found, script, severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    s116_accumulation_on_one_device,
    s123_clip_times_parameters,
    s124_no_clipping_from_scratch,
    s127_loss_grows_with_accumulation,
    s128_mean_of_means,
    s129_token_batch_by_sentences,
    s130_step_in_backward,
)

MARIAN = {"model_family": "marian", "accumulation": 8}

TRANSLATION = {
    "task": "translation",
    "batch_unit": "tokens",
    "micro_batch": 4096,
    "devices": 1,
    "accumulation": 4,
}

NOAM = {
    "clip": 0.0, "from_scratch": True, "optimizer": "adam", "schedule": "noam", "warmup_steps": 4000,
}  # fmt: skip


@pytest.mark.parametrize(("clip", "told"), [(1.0, ["warning"]), (0.0, []), (1e-8, [])])
def test_mammoths_clip_is_told_unless_it_was_divided_already(clip, told):
    assert severities(s123_clip_times_parameters, tool="mammoth", concepts={"clip": clip}) == told
    assert found(s123_clip_times_parameters, tool="opennmt", concepts={"clip": clip}) == []


@for_each(
    ("change", "version", "count"),
    [
        ({}, (5, 24, 0), 1),
        ({}, (5, 0, 0), 1),
        ({}, (4, 57, 0), 0),
        ({}, (5, 40, 0), 0),
        ({}, None, 0),
        ({"model_family": "llama"}, (5, 24, 0), 0),
        ({"label_smoothing": 0.1}, (5, 24, 0), 0),
        ({"label_smoothing": 0.0}, (5, 24, 0), 1),
        ({"accumulation": 1}, (5, 24, 0), 0),
        ({"accumulation": 1, "devices": 4}, (5, 24, 0), 1),
    ],
)
def test_the_inflated_loss_depends_on_version_family_and_smoothing(change, version, count):
    versions = {} if version is None else {"transformers": version}
    told = found(s127_loss_grows_with_accumulation, concepts=MARIAN | change, versions=versions)
    assert len(told) == count


@for_each("family", sorted(s127_loss_grows_with_accumulation.FAMILIES))
def test_smoothing_is_proposed_where_the_model_makes_decoder_inputs_from_labels_alone(family):
    concepts = MARIAN | {"model_family": family}
    (one,) = found(
        s127_loss_grows_with_accumulation, concepts=concepts, versions={"transformers": (5, 24, 0)}
    )
    can = family in s127_loss_grows_with_accumulation.SMOOTHED
    assert ("label_smoothing_factor" in one.finding.fix) is can
    assert can or family not in ("t5", "marian", "bart", "mbart")
    assert not can or family not in ("trocr", "vision-encoder-decoder", "whisper", "m2m_100")


def test_an_own_loss_function_keeps_the_inflated_loss_away():
    versions = {"transformers": (5, 24, 0)}
    own = script(call("Seq2SeqTrainer", compute_loss_func=1), concepts=MARIAN, versions=versions)
    assert list(s127_loss_grows_with_accumulation.check(own)) == []


@pytest.mark.parametrize(("packing", "count"), [(True, 0), (False, 1)])
def test_packed_sequences_have_no_short_batches(packing, count):
    versions = {"transformers": (4, 45, 2)}
    concepts = {"accumulation": 4, "packing": packing}
    assert len(found(s128_mean_of_means, concepts=concepts, versions=versions)) == count


def test_lightning_averages_means():
    run = script(call("Trainer", accumulate_grad_batches=8), imports=["lightning"], tool="torch")
    assert len(list(s128_mean_of_means.check(run))) == 1


@for_each(
    ("keys", "count"),
    [
        ({"batch_type": "tokens"}, 1),
        ({"batch_type": "tokens", "normalization": "sents"}, 1),
        ({"batch_type": "tokens", "normalization": "tokens"}, 0),
        ({"batch_type": "sents"}, 0),
    ],
)
def test_token_batches_are_divided_by_tokens(keys, count):
    assert len(found(s129_token_batch_by_sentences, tool="opennmt", keys=keys)) == count


def test_a_step_in_backward_cannot_accumulate_and_does_not_clip():
    concepts = {"optimizer_variant": "galore_adamw_layerwise", "accumulation": 4, "clip": 1.0}
    assert severities(s130_step_in_backward, concepts=concepts) == ["error", "warning"]
    assert severities(s130_step_in_backward, concepts=concepts | {"optimizer_variant": "lomo"}) == ["warning"]
    assert severities(s130_step_in_backward, concepts=concepts | {"optimizer_variant": "galore_adamw"}) == []
    keys = {"galore_layerwise": True}
    assert severities(
        s130_step_in_backward, tool="llamafactory", keys=keys, concepts={"accumulation": 2}
    ) == ["error"]


@for_each(
    ("change", "count"),
    [
        ({}, 0),
        ({"accumulation": 6}, 0),
        ({"accumulation": 8}, 1),
        ({"task": "language_model"}, 1),
        ({"batch_unit": "examples"}, 1),
    ],
)
def test_the_batch_of_the_transformer_paper_may_be_gathered_on_one_device(change, count):
    assert len(found(s116_accumulation_on_one_device, concepts=TRANSLATION | change)) == count


@for_each(
    ("change", "count"),
    [({}, 0), ({"schedule": "inverse_sqrt"}, 0), ({"warmup_steps": 500}, 1), ({"schedule": "linear"}, 1)],
)
def test_the_recipe_of_the_transformer_paper_needs_no_clipping(change, count):
    assert len(found(s124_no_clipping_from_scratch, concepts=NOAM | change)) == count

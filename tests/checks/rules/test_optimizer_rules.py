"""Rules about optimizers: what must keep them silent, and numbers that they tell."""

import math

import pytest

from tests.checks.rules.described_runs import call, found, script
from tests.for_each import for_each
from trimtab.checks.rules import (
    s111_sgd_at_rate_one,
    s113_lion_at_adams_rate,
    s114_adam_with_weight_decay,
    s115_second_moment_horizon,
    s119_adafactor_of_two_rates,
    s131_offloaded_optimizer_misused,
    s132_galore_settings,
)


@pytest.mark.parametrize(
    ("keys", "count"), [({"encoder_type": "transformer"}, 1), ({"encoder_type": "brnn"}, 0), ({}, 0)]
)
def test_recurrent_networks_may_have_sgd_at_one(keys, count):
    concepts = {"optimizer": "sgd", "learning_rate": 1.0}
    assert len(found(s111_sgd_at_rate_one, tool="opennmt", keys=keys, concepts=concepts)) == count


@for_each(
    ("concepts", "count"),
    [({"learning_rate": 5e-5}, 1), ({"learning_rate": 1e-5}, 0), ({"learning_rate": 1e-4, "adapter": "lora"}, 0),
     ({"learning_rate": 2e-4, "adapter": "lora"}, 1), ({"learning_rate": 5e-5, "from_scratch": True}, 0)],
)  # fmt: skip
def test_lion_is_compared_with_what_adamw_gets(concepts, count):
    assert len(found(s113_lion_at_adams_rate, concepts={"optimizer": "lion", **concepts})) == count


def test_deepspeeds_adam_is_adamw_unless_it_is_told_otherwise():
    concepts = {"optimizer": "adam", "weight_decay": 0.1}
    assert found(s114_adam_with_weight_decay, tool="deepspeed", concepts=concepts) == []
    keys = {"optimizer.params.adam_w_mode": False}
    assert len(found(s114_adam_with_weight_decay, tool="deepspeed", keys=keys, concepts=concepts)) == 1
    assert len(found(s114_adam_with_weight_decay, tool="torch", concepts=concepts)) == 1


@for_each(
    ("beta2", "batch", "count"),
    [(0.999, 4_000_000, 1), (0.95, 4_000_000, 0), (0.9, 500, 1), (0.999, 32_000, 0)],
)
def test_the_horizon_of_the_second_moment_is_counted_in_tokens(beta2, batch, count):
    concepts = {
        "optimizer": "adamw",
        "beta2": beta2,
        "micro_batch": batch,
        "batch_unit": "tokens",
        "devices": 1,
    }
    assert len(found(s115_second_moment_horizon, concepts=concepts)) == count


@for_each("tokens", [1, 7, 64, 500, 5_000, 50_000, 1_000_000, 20_000_000])
def test_the_decay_rate_that_is_advised_is_told_so_that_it_has_the_half_life_that_is_promised(tokens):
    told = s115_second_moment_horizon.shown(0.5 ** (tokens / 1e7))
    assert 0 < float(told) < 1
    assert math.log(2) / -math.log(float(told)) * tokens == pytest.approx(1e7, rel=0.06)


@for_each(
    ("made", "count"),
    [
        (call("Adafactor", lr=1e-3, scale_parameter=False), 1),
        (call("Adafactor", lr=1e-3, relative_step=True), 1),
        (call("Adafactor", lr=1e-3, relative_step=False), 0),
        (call("Adafactor", lr=None, relative_step=True), 0),
        (call("Adafactor", lr=1e-3), 0),
        (call("Adafactor", qualifier="torch.optim", lr=1e-3), 0),
        (call("Adafactor", qualifier="transformers", lr=1e-3), 1),
        (call("Adafactor", lr=1e-3, scale_parameter=False, has_rest=True), 0),
    ],
)
def test_only_transformers_adafactor_has_a_rate_of_its_own(made, count):
    assert len(list(s119_adafactor_of_two_rates.check(script(made)))) == count


def test_what_stands_before_the_offloaded_optimizer_is_another_matter():
    mine, clip = call("CPUOffloadOptimizer", line=5), call("clip_grad_norm_", line=2)
    assert list(s131_offloaded_optimizer_misused.check(script(clip, mine))) == []
    later = call("clip_grad_norm_", line=9), call("CosineAnnealingLR", line=7)
    assert len(list(s131_offloaded_optimizer_misused.check(script(mine, *later)))) == 2


def test_weights_are_loaded_before_the_offloaded_optimizer_is_made():
    mine = call("CPUOffloadOptimizer", line=5)
    late, early = (call("load_state_dict", qualifier="model", line=line) for line in (6, 4))
    assert len(list(s131_offloaded_optimizer_misused.check(script(mine, late)))) == 1
    assert list(s131_offloaded_optimizer_misused.check(script(early, mine))) == []
    own = call("load_state_dict", qualifier="optimizer", line=6)
    assert list(s131_offloaded_optimizer_misused.check(script(mine, own))) == []
    whole = call("compile", qualifier="torch", line=1)
    (one,) = s131_offloaded_optimizer_misused.check(script(whole, mine))
    assert one.finding.severity == "warning"


@for_each(
    ("keys", "count"),
    [
        ({"optim_args": "rank=8,update_proj_gap=10"}, 1),
        ({"optim_args": "update_proj_gap=200"}, 0),
        ({"optim_args": {"update_proj_gap": 10}, "optim_args.update_proj_gap": 10}, 1),
        ({"galore_update_interval": 5}, 1),
    ],
)
def test_a_decomposition_every_few_steps_is_too_often(keys, count):
    assert len(found(s132_galore_settings, tool="llamafactory", keys=keys)) == count

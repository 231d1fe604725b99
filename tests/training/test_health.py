"""Defects that are really there are found, and ten healthy recipes have no finding."""

from dataclasses import replace

import pytest
import torch

from tests.small_run import small_parts
from tests.training.watched_run import watched
from trimtab.training import health as stage
from trimtab.training.health import HealthCheck
from trimtab.types import Ragged
from trimtab.watch import clipping

LONG = {"length": "100000 steps"}
APART = FEWEST_UPDATES = 40
HEALTHY = {
    "as it is": {},
    "stable_adamw, cosine": {
        "step.optimizer": {"kind": "stable_adamw", "learning_rate": 5e-3},
        "step.schedule": {"kind": "cosine", "warmup": "10 steps"},
    },
    "adafactor, inverse_sqrt": {
        "step.optimizer": {"kind": "adafactor", "learning_rate": 1e-2},
        "step.schedule": {"kind": "inverse_sqrt", "warmup": "10 steps"},
    },
    "lion, one_cycle": {
        "step.optimizer": {"kind": "lion", "learning_rate": 1e-3},
        "step.schedule": {"kind": "one_cycle"},
    },
    "sgd, constant": {
        "step.optimizer": {"kind": "sgd", "learning_rate": 0.3},
        "step.schedule": {"kind": "constant", "warmup": "10 steps"},
    },
    "rms, rotary, swiglu, no bias": {
        "model.norm": "rms",
        "model.positions": "rotary",
        "model.activation": "swiglu",
        "model.bias": False,
    },
    "norm after, gelu, untied": {
        "model.norm_position": "after",
        "model.activation": "gelu",
        "model.tie_embeddings": "none",
    },
    "learned positions, grouped heads, three layers": {
        "model.positions": "learned",
        "model.kv_heads": 1,
        "model.layers": 3,
    },
    "bf16, adaptive clip, no dropout": {
        "step.precision": "bf16_mixed",
        "step.clip": {"kind": "adaptive"},
        "model.dropout": 0.0,
    },
    "smoothing, decay, no clip": {
        "loss.label_smoothing": 0.1,
        "step.optimizer.weight_decay": 0.1,
        "step.clip": {"kind": "off"},
        "model.tie_embeddings": "decoder",
    },
}
LARGE = {
    "step.tokens_per_step": 1024,
    "step.tokens_per_micro_batch": 1024,
    "data.valid": {"source": "train.en", "target": "train.de"},
}
"""Packs of tokens enough to judge rare units by."""


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Short runs are looked at as soon as long ones are not."""
    monkeypatch.setattr(stage, "APART", APART)
    monkeypatch.setattr(stage, "FEWEST_UPDATES", FEWEST_UPDATES)
    monkeypatch.setattr(stage, "SPACING", 10)


def run(folder, **changes):
    return watched(small_parts(folder, **{**LONG, **changes}))


def ready(folder, **changes):
    """A run whose next step is followed by a look inside."""
    soon = run(folder, **changes)
    soon.health.steps = APART - 1
    return soon


@pytest.mark.quick("as it is")
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_has_no_finding_and_learns(tmp_path, name):
    length = {"length": "60 steps"}  # to the end of its schedule, where nothing moves any more
    changes = {**LARGE, "step.tokens_per_step": 256, **HEALTHY[name], **length}
    healthy = run(tmp_path, **changes).train(60, every=20)
    assert [finding for look in healthy.looks for finding in look.findings] == []
    scores = healthy.looks[1].scores
    assert {"activation_rms", "largest_attention_logit", "update_ratio_median", "dead_units"} <= set(scores)
    assert 1e-4 < scores["update_ratio_median"] < 5e-2
    assert healthy.health.resting == {}
    details = healthy.looks[1].details
    assert [*details["rms_by_depth"].values()][-1] == scores["activation_rms"]
    assert any(name.startswith("encoder.blocks.0.") for name in details["update_ratios"])


@pytest.mark.slow
def test_a_tensor_that_no_gradient_reaches_is_named_but_not_too_early(tmp_path):
    broken = run(tmp_path)
    for name, parameter in broken.parts.model.named_parameters():
        if name.startswith("encoder.blocks.0.norm_feed_forward"):
            parameter.register_hook(torch.zeros_like)
    broken.train(FEWEST_UPDATES - 1, every=10)
    assert broken.codes == []
    broken.train(1, every=FEWEST_UPDATES)
    finding = broken.finding("M902")
    assert (finding.severity, broken.codes) == ("error", ["M902"])
    assert f"2 of {broken.health.trainable} trainable tensors" in finding.message
    assert finding.message.endswith(
        "blocks.0.norm_feed_forward.weight, encoder.blocks.0.norm_feed_forward.bias"
    )


def test_what_is_frozen_on_purpose_is_not_told(tmp_path):
    parts = small_parts(tmp_path, **LONG)
    parts.model.encoder.blocks[0].norm_feed_forward.requires_grad_(False)
    assert not any(
        "norm_feed_forward.weight" in name
        for name in HealthCheck(parts.model, parts.learning_rate, parts.recipe.step.clip).resting
        if "encoder" in name
    )


@pytest.mark.slow
def test_a_rate_that_moves_nothing_is_told_by_both_of_its_signs(tmp_path):
    idle = run(tmp_path, **{"step.optimizer.learning_rate": 1e-12}).train(50)
    assert set(idle.codes) == {"M902", "S920"}
    assert "matrices by less than 1e-05 of their size" in idle.finding("S920").message


@pytest.mark.slow
def test_a_rate_a_hundred_times_too_high_is_told_by_what_has_grown(tmp_path):
    hot = run(tmp_path, **{"step.optimizer.learning_rate": 1.0}).train(APART, every=APART)
    assert {"M903", "M905"} <= set(hot.codes)
    assert all("lower the learning rate" in hot.finding(code).fix for code in ("M903", "M905"))


@pytest.mark.slow
def test_a_rate_too_high_for_weights_that_are_kept_small_is_told_by_how_far_they_move(tmp_path):
    restless = run(tmp_path, **{"step.optimizer.learning_rate": 1.0, "step.weight_clip": 1.0}).train(
        80, every=80
    )
    assert "S921" in restless.codes
    assert "matrices by more than 0.1 of their size" in restless.finding("S921").message


def test_attention_whose_weights_have_grown_is_told_with_its_place(tmp_path):
    sharp = ready(tmp_path)
    with torch.no_grad():
        sharp.parts.model.encoder.blocks[0].attention.qkv.weight.mul_(50)
    sharp.train(1, every=1)
    assert "M905" in sharp.codes
    assert "in encoder.blocks.0.attention" in sharp.finding("M905").message
    assert sharp.looks[-1].scores["largest_attention_logit"] > 1e3


@pytest.mark.slow
def test_an_encoder_that_grows_tenfold_a_layer_is_told(tmp_path):
    grown = ready(tmp_path, **{"model.layers": 3})
    with torch.no_grad():
        for depth, block in enumerate(grown.parts.model.encoder.blocks):
            block.feed_forward.down.weight.mul_(60 * 10**depth)
    grown.train(1, every=1)
    sizes = [*grown.health.inside.activations.left.values()][:3]
    assert sizes[1] > 5 * sizes[0]
    assert sizes[2] > 5 * sizes[1]
    assert "M903" in grown.codes
    assert "encoder.blocks." in grown.finding("M903").message


def test_a_model_that_is_not_finite_is_an_error(tmp_path):
    broken = ready(tmp_path)
    with torch.no_grad():
        broken.parts.model.decoder.blocks[0].feed_forward.down.bias.fill_(torch.inf)
    broken.look()
    assert broken.codes == []  # too soon for a look inside
    broken.train(1, every=1)
    assert [(each.code, each.severity) for each in broken.looks[-1].findings] == [("M903", "error")]


def test_dead_feed_forward_units_are_told(tmp_path):
    dead = ready(tmp_path, **LARGE)
    with torch.no_grad():
        dead.parts.model.decoder.blocks[0].feed_forward.up.bias.fill_(-1000.0)
    dead.train(1, every=1)
    assert "M904" in dead.codes
    assert "decoder.blocks.0.feed_forward up to 100.0%" in dead.finding("M904").message


@torch.no_grad()
def look_at_first(model):
    """Every head of the encoder looks at the first token: the query is the same everywhere, the key largest there."""
    model.source_positions.weight[0].mul_(1000)
    first = torch.nn.functional.layer_norm(model.source_positions.weight[0], [model.config.dim])
    for block in model.encoder.blocks:
        width = model.config.dim
        block.attention.qkv.weight[:width] = 0
        block.attention.qkv.bias[:width] = 1.0
        block.attention.qkv.weight[width : 2 * width] = 0.3 * first


def test_an_encoder_all_of_whose_heads_look_at_one_token_is_told(tmp_path):
    blind = ready(tmp_path, **LARGE, **{"model.positions": "learned"})
    valid = blind.parts.datasets.valid["valid"]
    longer = [Ragged(each.values, each.offsets[::2]) for each in (valid.source, valid.target)]
    blind.parts.datasets.valid["valid"] = replace(valid, source=longer[0], target=longer[1])
    look_at_first(blind.parts.model)
    blind.train(1, every=1)
    assert "2 of the 2 heads of the encoder give more than 90%" in blind.finding("M906").message


def test_a_clip_that_acts_in_every_step_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(clipping, "FEWEST", 20)
    clipped = run(tmp_path, **{"step.clip": {"kind": "global_norm", "at": 1e-6}}).train(30, every=10)
    assert clipped.codes == ["S922"]
    assert clipped.looks[-1].scores["clip_rate"] == 1.0


def test_waiting_for_data_is_told_once(tmp_path):
    slow = run(tmp_path)
    for _ in range(3):
        slow.health.waiting.add(steps=200, seconds=100.0, waited=50.0)
    assert [each.code for each in slow.look().findings] == ["P901"]
    assert slow.look().findings == []


def test_an_error_is_told_each_time_and_what_is_over_is_said(tmp_path):
    broken = ready(tmp_path).train(1, every=1000)
    bias = broken.parts.model.decoder.blocks[0].feed_forward.down.bias
    healthy = bias.detach().clone()
    with torch.no_grad():
        bias.fill_(torch.inf)
    first, again = broken.look(), broken.look()
    assert [each.code for each in first.findings] == [each.code for each in again.findings] == ["M903"]
    assert "M903" in again.over
    assert "activation_rms" not in again.scores  # what is no number is no score
    with torch.no_grad():
        bias.copy_(healthy)
    broken.health.steps += APART
    after = broken.look()
    assert (after.findings, "M903" in after.over) == ([], True)


def everything(parts):
    """Weights, moments, gradients, mode, and the state of the random numbers."""
    tensors = {
        **parts.model.state_dict(),
        **parts.stepper.optimizer.state_tensors(),
        "random": torch.get_rng_state(),
    }
    grads = {f"grad {name}": p.grad for name, p in parts.model.named_parameters() if p.grad is not None}
    return {name: each.clone() for name, each in {**tensors, **grads}.items()}


def test_a_look_changes_nothing(tmp_path):
    before = ready(tmp_path).train(1, every=1000)
    state = everything(before.parts)
    before.look()
    after = everything(before.parts)
    assert state.keys() == after.keys()
    assert all(torch.equal(state[name], after[name]) for name in state)
    assert all(
        not each._forward_hooks and not each._forward_pre_hooks for each in before.parts.model.modules()
    )


@pytest.mark.slow
def test_training_is_the_same_bit_for_bit_with_looks_and_without(tmp_path):
    one = run(tmp_path / "one").train(APART + 20, every=10)
    other = run(tmp_path / "other")
    other.health.ratios.tensors.clear()
    other.train(APART + 20, every=1000)
    assert all(
        torch.equal(a, b)
        for a, b in zip(one.parts.model.parameters(), other.parts.model.parameters(), strict=True)
    )


@pytest.mark.slow
def test_without_a_validation_set_what_moves_is_watched_all_the_same(tmp_path):
    idle = run(tmp_path, **{"data.valid": None, "step.optimizer.learning_rate": 1e-12}).train(50)
    assert set(idle.codes) == {"M902", "S920"}

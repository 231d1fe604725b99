import pytest
import torch

from tests.faults.mutation import put_bug
from tests.optimizer_kinds import OPTIMIZERS
from trimtab.config import optimizers as config_of
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.moments import MomentOptimizer
from trimtab.training.preflight.updates import skipped_steps_change_nothing, weights_follow_the_rate

WRITTEN = [
    config_of.AdamW(weight_decay=0.1),
    config_of.StableAdamW(),
    config_of.Adafactor(weight_decay=0.1),
    config_of.Lion(weight_decay=1.0),
    config_of.SGD(learning_rate=1e-5, nesterov=True),
]
OTHERS = [kind() for kind in OPTIMIZERS if kind not in map(type, WRITTEN)]


def told(check, parts):
    return [(each.code, each.severity) for each in check(parts)]


@pytest.mark.quick("adamw-None", "muon-1.0")
@pytest.mark.parametrize("clip", [None, 1.0])
@pytest.mark.parametrize("optimizer", [*WRITTEN, *OTHERS], ids=lambda each: each.kind)
def test_every_optimizer_moves_all_by_the_rate_and_skips_without_a_trace(parts_with, optimizer, clip):
    parts = parts_with(step={"optimizer": optimizer, "weight_clip": clip})
    weights = {name: each.clone() for name, each in parts.model.state_dict().items()}
    assert told(weights_follow_the_rate, parts) == []
    assert told(skipped_steps_change_nothing, parts) == []
    assert all(torch.equal(weights[name], each) for name, each in parts.model.state_dict().items())


RATES = {"hidden": 1e-4, "vector": 1e4, "embedding": 0.5}


@pytest.mark.quick("muon")
@pytest.mark.parametrize("optimizer", [*WRITTEN, *OTHERS], ids=lambda each: each.kind)
def test_weights_of_very_different_rates_all_move_by_theirs(parts_with, optimizer):
    multipliers = config_of.LearningRateMultipliers(**RATES)
    optimizer = optimizer.model_copy(update={"learning_rate_multipliers": multipliers})
    parts = parts_with(step={"optimizer": optimizer})
    assert told(weights_follow_the_rate, parts) == []
    assert told(skipped_steps_change_nothing, parts) == []


def test_a_rate_of_slow_weights_that_is_not_applied_is_found_beside_fast_ones(parts_with, monkeypatch):
    parts = parts_with(step={"optimizer": config_of.AdamW(learning_rate_multipliers=RATES)})
    stuck = f"{RATE} if group.multiplier != 1e-4 else 0.01"
    put_bug(monkeypatch, AdamW.update, (RATE, stuck))
    (finding,) = weights_follow_the_rate(parts)
    assert finding.code == "S205"
    assert "the first update of encoder.blocks.0.attention.qkv.weight" in finding.message


RATE = "rate = multiplied(learning_rate, group.multiplier)"


def test_a_rate_that_is_not_applied_is_found(parts, parts_with, monkeypatch):
    put_bug(monkeypatch, AdamW.update, (RATE, "rate = 0.01"))
    assert told(weights_follow_the_rate, parts) == [("S205", "error")]
    put_bug(monkeypatch, MomentOptimizer.update, ("rate=rates[self.multipliers[name]]", "rate=0.01"))
    assert told(weights_follow_the_rate, parts_with(step={"optimizer": config_of.SGD()})) == [
        ("S205", "error")
    ]


def test_a_rate_of_zero_moves_nothing(parts, monkeypatch):
    put_bug(monkeypatch, AdamW.update, (RATE, "rate = 0.0"))
    (finding,) = weights_follow_the_rate(parts)
    assert finding.code == "S204"
    count = len(list(parts.model.parameters()))
    assert f"({count} of {count})" in finding.message


def test_a_single_tensor_that_stays_is_named(parts):
    gain = parts.model.decoder.norm.weight
    gain.register_hook(lambda gradient: gradient * 0)
    (finding,) = weights_follow_the_rate(parts)
    assert finding.code == "S204"
    assert "decoder.norm.weight" in finding.message


def test_a_table_that_the_forward_pass_writes_to_is_named_and_put_back(parts, monkeypatch):
    healthy, before = EncoderDecoder.forward, parts.model.target_positions.sines.clone()

    def drifting(self, pack):
        self.target_positions.sines += 1e-3
        return healthy(self, pack)

    monkeypatch.setattr(EncoderDecoder, "forward", drifting)
    (finding,) = weights_follow_the_rate(parts)
    assert (finding.code, finding.severity) == ("S212", "error")
    assert "sines" in finding.message
    assert torch.equal(before, parts.model.target_positions.sines)


def test_a_frozen_weight_that_moves_is_named(parts):
    parts.model.decoder.norm.bias.requires_grad = False
    healthy = type(parts.stepper.optimizer).update

    def everything(self, *, learning_rate, skip):
        with torch.no_grad():
            self.named["decoder.norm.bias"] += 1
        healthy(self, learning_rate=learning_rate, skip=skip)

    parts.stepper.optimizer.__class__ = type("Everything", (AdamW,), {"update": everything})
    assert [each.code for each in weights_follow_the_rate(parts)] == ["S212"]


@pytest.mark.parametrize(
    ("optimizer", "function", "change"),
    [
        (config_of.AdamW(), AdamW.update, ("skip.to(torch.float32)", "skip.to(torch.float32) * 0")),
        (config_of.SGD(), MomentOptimizer.move, ("torch.where(skip, parameter, moved)", "moved")),
        (config_of.Lion(), MomentOptimizer.move, ("torch.where(skip, old, new)", "new")),
        (
            config_of.Adafactor(),
            MomentOptimizer.after_update,
            ("torch.where(skip, self.step, self.step + 1)", "self.step + 1"),
        ),
    ],
    ids=["adamw's weights", "weights", "moments", "the count of steps"],
)
def test_what_a_skipped_step_changes_is_found(parts_with, monkeypatch, optimizer, function, change):
    put_bug(monkeypatch, function, change)
    assert told(skipped_steps_change_nothing, parts_with(step={"optimizer": optimizer})) == [
        ("S206", "error")
    ]

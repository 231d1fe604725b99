"""All state of a step stays in the memory where it was: a recorded step finds it there."""

import pytest
import torch

from tests.step.test_take_step import CONFIGS, run
from tests.step.toy import Toy, packs
from trimtab.config.guard import GuardConfig
from trimtab.config.step import ClipAdaptive, ClipGlobalNorm
from trimtab.step.clip.build import build_clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.take_step import take_step

GUARD = GuardConfig(window=16, active_from=8)


def tensors_of(*holders):
    """Every tensor that hangs on these objects, by name."""
    return {
        f"{type(holder).__name__}.{name}": value
        for holder in holders
        for name, value in vars(holder).items()
        if isinstance(value, torch.Tensor) and name != "seen"
    }


@pytest.mark.quick("global_norm-adamw", "global_norm-sgd", "adaptive-stable_adamw", "adaptive-muon")
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.kind)
@pytest.mark.parametrize("clip", [ClipGlobalNorm(), ClipAdaptive(first_steps=2)], ids=lambda c: c.kind)
def test_steps_restores_and_new_beginnings_move_no_state(config, clip):
    model = Toy()
    optimizer, clip, gate = build_optimizer(config, model), build_clip(clip), OutlierGate(GUARD)
    scale = LossScale(enabled=True, device=torch.device("cpu"), patience=2)

    def step(made):
        take_step(model.objective, optimizer, made, clip=clip, scale=scale, gate=gate, learning_rate=0.01)

    def places():
        held = {**optimizer.state_tensors(), **tensors_of(optimizer, clip, gate, scale)}
        return {name: value.data_ptr() for name, value in (held | dict(model.named_parameters())).items()}

    def values():
        held = {**optimizer.state_tensors(), **tensors_of(clip, gate, scale)}
        return {name: value.clone() for name, value in held.items()}

    for i in range(5):
        step(packs(3 + i, 4))
    first, before = places(), values()
    saved = [each.to_dict() for each in (clip, gate, scale)]
    moments = {name: value.clone() for name, value in optimizer.state_tensors().items()}
    for i in range(5):
        step(packs(4, 4 + i))
    changed = values()
    assert any(not torch.equal(changed[name], before[name]) for name in before)
    gate.forget()
    optimizer.load_state_tensors(moments)
    for each, state in zip((clip, gate, scale), saved, strict=True):
        each.from_dict(state)
    assert places() == first
    assert all(torch.equal(value, before[name]) for name, value in values().items() if "rings" not in name)


def test_a_step_reads_its_rate_and_its_divisor_from_the_device(monkeypatch):
    model, rates = Toy(), []
    kernel = torch._fused_adamw_

    def told(*given, **words):
        rates.append(words["lr"])
        kernel(*given, **words)

    monkeypatch.setattr(torch, "_fused_adamw_", told)
    report = run(model, build_optimizer(CONFIGS[0], model), packs(5, 7))
    assert report.learning_rate == 0.01
    assert rates
    assert all(isinstance(rate, torch.Tensor) and float(rate) == 0.01 for rate in rates)

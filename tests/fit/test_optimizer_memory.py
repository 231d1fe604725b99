import pytest
import torch
from torch import nn

from tests.optimizer_kinds import OPTIMIZERS
from trimtab.config.optimizers import AdamW
from trimtab.fit.optimizer_memory import state_bytes, update_workspace_bytes
from trimtab.fit.shape import Weights
from trimtab.step.optimizer.build import build_optimizer

KINDS = [kind() for kind in OPTIMIZERS]


def model(dtype=torch.float32):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(12, 20), nn.LayerNorm(20)).to(dtype)


def weights_of(layers):
    return [
        Weights(name, tuple(each.shape), "matrix" if each.ndim == 2 else "vector")
        for name, each in layers.named_parameters()
    ]


@pytest.mark.parametrize("config", KINDS, ids=lambda config: config.kind)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kept_bytes_are_those_of_the_real_states(config, dtype):
    if dtype == torch.bfloat16 and config.kind != "adamw":
        return  # no recipe has them
    layers = model(dtype)
    optimizer = build_optimizer(config, layers)
    for weight in layers.parameters():
        weight.grad = torch.ones_like(weight)
    optimizer.update(learning_rate=1e-3, skip=torch.tensor(False))
    of_step = 4 if config.kind != "adamw" else 0  # one count of steps for all weights
    real = sum(tensor.nbytes for tensor in optimizer.state_tensors().values())
    assert state_bytes(config, weights_of(layers), lambda size: size) == real - of_step


def test_pytorchs_fused_kernel_needs_nothing_beside_the_states():
    assert update_workspace_bytes(AdamW(), weights_of(model()), "bf16_mixed") == 0


def test_rounding_by_chance_needs_copies_of_a_slice_and_not_of_the_model():
    many = [Weights("matrix", (1024, 1024), "matrix", count=1000)]
    assert 8 * 2**25 < update_workspace_bytes(AdamW(), many, "bf16") < 8 * 2**25 + 20 * 2**20


@pytest.mark.parametrize("config", KINDS[1:], ids=lambda config: config.kind)
def test_plain_updates_need_some_times_the_largest_tensor(config):
    needed = update_workspace_bytes(config, [Weights("a", (100, 100), "matrix", 9)], "fp32")
    assert 4 * 10_000 < needed < 50 * 10_000

import pytest
import torch
from torch import nn

from trimtab.config.optimizers import SGD, Adafactor, Lion, StableAdamW
from trimtab.step.optimizer.build import build_optimizer

NEVER = torch.tensor(False)
CONFIGS = [Adafactor(), StableAdamW(), Lion(), SGD()]


def steps(model, optimizer, numbers):
    for i in numbers:
        for p in model.parameters():
            p.grad = torch.full_like(p, float(i + 1)) + p.detach()
        optimizer.update(learning_rate=0.1, skip=NEVER)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.kind)
def test_saved_state_goes_on_exactly_and_foreign_state_is_refused(config):
    torch.manual_seed(0)
    one, two = nn.Linear(3, 2), nn.Linear(3, 2)
    two.load_state_dict(one.state_dict())
    steps(one, build_optimizer(config, one), range(4))
    first = build_optimizer(config, two)
    steps(two, first, range(2))
    second = build_optimizer(config, two)
    second.load_state_tensors({k: v.clone() for k, v in first.state_tensors().items()})
    steps(two, second, range(2, 4))
    assert torch.equal(one.weight, two.weight)
    with pytest.raises(KeyError):
        second.load_state_tensors({"step": torch.tensor(1.0)})
    with pytest.raises(KeyError):
        build_optimizer(config, nn.Linear(4, 2)).load_state_tensors(first.state_tensors())


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.kind)
def test_weight_decay_is_decoupled_and_spares_biases(config):
    model = nn.Linear(2, 2)
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = build_optimizer(config.model_copy(update={"weight_decay": 0.5}), model)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.update(learning_rate=0.1, skip=NEVER)
    torch.testing.assert_close(model.weight.data, start["weight"] * 0.95)
    torch.testing.assert_close(model.bias.data, start["bias"])

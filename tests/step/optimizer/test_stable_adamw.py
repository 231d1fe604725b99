import pytest
import torch
from torch import nn

from tests.reference.stable_adamw import PlainStableAdamW
from trimtab.config.optimizers import StableAdamW as Config
from trimtab.step.optimizer.stable_adamw import StableAdamW

NEVER = torch.tensor(False)


def test_it_equals_the_papers_algorithm():
    torch.manual_seed(0)
    model = nn.Linear(5, 3).double()
    optimizer = StableAdamW(Config(betas=(0.9, 0.98), eps=1e-6, weight_decay=0.1), model)
    twins = {
        name: PlainStableAdamW(betas=(0.9, 0.98), eps=1e-6, decay=0.1 if name == "weight" else 0.0)
        for name, _ in model.named_parameters()
    }
    values = {name: p.flatten().tolist() for name, p in model.named_parameters()}
    for step in range(6):
        for name, p in model.named_parameters():
            p.grad = torch.randn_like(p) * (1000 if step == 3 else 1)
            values[name] = twins[name].step(values[name], p.grad.flatten().tolist(), learning_rate=0.1)
        optimizer.update(learning_rate=0.1, skip=NEVER)
    for name, p in model.named_parameters():
        expected = torch.tensor(values[name], dtype=torch.float64).view_as(p)
        torch.testing.assert_close(p.data, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("size", [1e2, 1e6])
def test_a_sudden_gradient_moves_the_weights_no_further_than_usual_ones(size):
    model = nn.Linear(4, 4, bias=False)
    optimizer = StableAdamW(Config(), model)
    torch.manual_seed(1)
    moved = []
    for step in range(60):
        before = model.weight.detach().clone()
        model.weight.grad = torch.randn(4, 4) * (size if step == 59 else 1)
        optimizer.update(learning_rate=0.01, skip=NEVER)
        moved.append(float((model.weight.detach() - before).norm()))
    assert moved[-1] < 1.5 * max(moved[20:59])


def test_a_decay_that_float32_takes_for_1_still_gives_numbers():
    model = nn.Linear(2, 2)
    first = model.weight.detach().clone()
    optimizer = StableAdamW(Config(betas=(0.9, 1 - 1e-11)), model)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.update(learning_rate=0.01, skip=NEVER)
    torch.testing.assert_close(model.weight.data, first * (1 - 0.01 * Config().weight_decay) - 0.01)

import torch
from torch import nn

from trimtab.config.optimizers import Lion as Config
from trimtab.step.optimizer.lion import Lion

NEVER = torch.tensor(False)


def test_it_equals_the_papers_algorithm_written_out():
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = Lion(Config(betas=(0.9, 0.99), weight_decay=0.5), model)
    weight, momentum = model.weight.detach().clone(), torch.zeros(2, 3)
    for _ in range(5):
        gradient = torch.randn(2, 3)
        model.weight.grad, model.bias.grad = gradient.clone(), torch.zeros(2)
        change = torch.sign(0.9 * momentum + 0.1 * gradient)
        weight = weight - 0.01 * (change + 0.5 * weight)
        momentum = 0.99 * momentum + 0.01 * gradient
        optimizer.update(learning_rate=0.01, skip=NEVER)
    torch.testing.assert_close(model.weight.data, weight)


def test_every_entry_moves_by_the_rate():
    model = nn.Linear(3, 2)
    before = model.weight.detach().clone()
    model.weight.grad, model.bias.grad = torch.tensor([[1e-6, 1, 1e6], [-1e-6, -1, -1e6]]), torch.zeros(2)
    Lion(Config(), model).update(learning_rate=0.01, skip=NEVER)
    torch.testing.assert_close((before - model.weight.data).abs(), torch.full((2, 3), 0.01))

import pytest
import torch
from torch import nn

from trimtab.config.optimizers import SGD as Config
from trimtab.step.optimizer.sgd import SGD

NEVER = torch.tensor(False)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("momentum", [0.5, 0.9])
def test_it_equals_pytorchs(momentum, nesterov):
    torch.manual_seed(0)
    ours = nn.Linear(4, 3)
    theirs = nn.Linear(4, 3)
    theirs.load_state_dict(ours.state_dict())
    optimizer = SGD(Config(momentum=momentum, nesterov=nesterov), ours)
    plain = torch.optim.SGD(theirs.parameters(), lr=0.1, momentum=momentum, nesterov=nesterov)
    for _ in range(5):
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        optimizer.update(learning_rate=0.1, skip=NEVER)
        plain.step()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b)

import pytest
import torch
from torch import nn

from tests.reference.adafactor import PlainAdafactor
from trimtab.config.optimizers import Adafactor as Config
from trimtab.step.optimizer.adafactor import Adafactor

NEVER = torch.tensor(False)


@pytest.mark.parametrize("clip", [0.5, 1.0, 100.0])
def test_it_equals_the_papers_algorithm(clip):
    torch.manual_seed(0)
    model = nn.Linear(5, 3).double()
    optimizer = Adafactor(Config(clip_update=clip, eps=1e-12), model)
    twins = {n: PlainAdafactor(clip=clip, exponent=0.8, eps=1e-12) for n, _ in model.named_parameters()}
    values = {name: p.tolist() for name, p in model.named_parameters()}
    for step in range(5):
        for name, p in model.named_parameters():
            p.grad = torch.randn_like(p) * 10**step
            values[name] = twins[name].step(values[name], p.grad.tolist(), learning_rate=0.1)
        optimizer.update(learning_rate=0.1, skip=NEVER)
    for name, p in model.named_parameters():
        torch.testing.assert_close(p.data, torch.tensor(values[name], dtype=torch.float64))

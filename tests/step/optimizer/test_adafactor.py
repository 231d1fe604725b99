import pytest
import torch
from torch import nn

from tests.reference.adafactor import PlainAdafactor
from trimtab.config.step import Adafactor as Config
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


def test_weight_decay_is_decoupled_and_spares_biases():
    model = nn.Linear(2, 2)
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = Adafactor(Config(weight_decay=0.5), model)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.update(learning_rate=0.1, skip=NEVER)
    torch.testing.assert_close(model.weight.data, start["weight"] * 0.95)
    torch.testing.assert_close(model.bias.data, start["bias"])


def test_saved_state_goes_on_exactly_and_foreign_state_is_refused():
    def steps(model, optimizer, numbers):
        for i in numbers:
            for p in model.parameters():
                p.grad = torch.full_like(p, float(i + 1)) + p.detach()
            optimizer.update(learning_rate=0.1, skip=NEVER)

    torch.manual_seed(0)
    one = nn.Linear(3, 2)
    two = nn.Linear(3, 2)
    two.load_state_dict(one.state_dict())
    whole = Adafactor(Config(), one)
    steps(one, whole, range(4))
    first = Adafactor(Config(), two)
    steps(two, first, range(2))
    second = Adafactor(Config(), two)
    second.load_state_tensors({k: v.clone() for k, v in first.state_tensors().items()})
    steps(two, second, range(2, 4))
    assert torch.equal(one.weight, two.weight)
    with pytest.raises(KeyError):
        second.load_state_tensors({"step": torch.tensor(1.0)})
    with pytest.raises(KeyError):
        Adafactor(Config(), nn.Linear(4, 2)).load_state_tensors(first.state_tensors())

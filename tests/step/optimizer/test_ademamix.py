import pytest
import torch
from torch import nn

from tests.reference.ademamix import PlainAdEMAMix
from trimtab.config.optimizers import AdamW as AdamWConfig
from trimtab.config.optimizers import AdEMAMix as Config
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.ademamix import AdEMAMix

NEVER = torch.tensor(False)


@pytest.mark.parametrize("warmup", [1, 5, 1000])
def test_it_equals_the_papers_algorithm(warmup):
    torch.manual_seed(0)
    model = nn.Linear(5, 3).double()
    rest = {"betas": (0.9, 0.98, 0.9995), "alpha": 6.0, "eps": 1e-6}
    optimizer = AdEMAMix(Config(mixing_warmup_steps=warmup, weight_decay=0.1, **rest), model)
    twins = {
        name: PlainAdEMAMix(warmup=warmup, decay=0.1 if name == "weight" else 0.0, **rest)
        for name, _ in model.named_parameters()
    }
    values = {name: p.flatten().tolist() for name, p in model.named_parameters()}
    for _ in range(12):
        for name, p in model.named_parameters():
            p.grad = torch.randn_like(p)
            values[name] = twins[name].step(values[name], p.grad.flatten().tolist(), learning_rate=0.1)
        optimizer.update(learning_rate=0.1, skip=NEVER)
    for name, p in model.named_parameters():
        expected = torch.tensor(values[name], dtype=torch.float64).view_as(p)
        torch.testing.assert_close(p.data, expected, rtol=1e-10, atol=1e-12)


def test_without_the_slow_momentum_it_is_adamw():
    def trained(kind, config):
        torch.manual_seed(0)
        model = nn.Linear(5, 3)
        optimizer = kind(config, model)
        for _ in range(10):
            for p in model.parameters():
                p.grad = torch.randn_like(p)
            optimizer.update(learning_rate=0.1, skip=NEVER)
        return model.weight.data

    mixed = trained(AdEMAMix, Config(alpha=0.0, betas=(0.9, 0.98, 0.9999), weight_decay=0.1))
    torch.testing.assert_close(mixed, trained(AdamW, AdamWConfig(betas=(0.9, 0.98), weight_decay=0.1)))

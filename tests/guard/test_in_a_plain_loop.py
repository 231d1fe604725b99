"""The loop of docs/how_to/guard.md, with a batch that damages the weights where nobody guards them."""

import math

import pytest
import torch

from trimtab.guard import Guard


def trained(factor: float, *, guard: Guard | None, steps: int = 150):
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    refused = []
    for step in range(steps):
        rows = torch.randn(64, 8)
        loss = (model(rows).squeeze(-1) - rows.sum(-1)).square().mean() * (factor if step == 100 else 1.0)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if guard is None or guard.judge(loss.item(), norm.item()).apply:
            optimizer.step()
        else:
            refused.append(step)
        optimizer.zero_grad()
    return model, refused


@pytest.mark.quick("nan", "100000.0")
@pytest.mark.parametrize("factor", [math.nan, math.inf, 1e5])
def test_only_the_poisoned_step_is_refused(factor):
    model, refused = trained(factor, guard=Guard())
    assert refused == [100]
    assert all(torch.isfinite(each).all() for each in model.parameters())


def test_without_a_guard_one_step_spoils_every_weight():
    model, _ = trained(math.nan, guard=None)
    assert all(torch.isnan(each).all() for each in model.parameters())

import pytest
import torch
from torch import nn

from trimtab.config.optimizers import AdamW as Config
from trimtab.step.optimizer.adamw import AdamW

NEVER = torch.tensor(False)


def pair():
    torch.manual_seed(0)
    one, two = nn.Linear(5, 3), nn.Linear(5, 3)
    two.load_state_dict(one.state_dict())
    return one, two


def set_gradients(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for p in model.parameters():
        p.grad = torch.randn(p.shape, generator=generator)


def test_it_equals_pytorchs_plain_adamw_with_decay_on_matrices_only():
    ours, theirs = pair()
    optimizer = AdamW(Config(betas=(0.9, 0.98), eps=1e-6, weight_decay=0.1), ours)
    plain = torch.optim.AdamW(
        [{"params": [theirs.weight], "weight_decay": 0.1}, {"params": [theirs.bias], "weight_decay": 0.0}],
        betas=(0.9, 0.98),
        eps=1e-6,
        foreach=False,
        fused=False,
    )
    for step in range(5):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        rate = 0.1 / (step + 1)
        optimizer.update(learning_rate=rate, skip=NEVER)
        for group in plain.param_groups:
            group["lr"] = rate
        plain.step()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_it_has_the_bits_of_pytorchs_fused_class_skipped_steps_included():
    ours, theirs = pair()
    optimizer = AdamW(Config(betas=(0.9, 0.98), eps=1e-6, weight_decay=0.1), ours)
    fused = torch.optim.AdamW(
        [{"params": [theirs.weight], "weight_decay": 0.1}, {"params": [theirs.bias], "weight_decay": 0.0}],
        betas=(0.9, 0.98),
        eps=1e-6,
        fused=True,
    )
    for step in range(6):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        rate, skip = torch.tensor(0.1 / (step + 1), dtype=torch.float64), torch.tensor(step in (0, 3))
        optimizer.update(learning_rate=rate, skip=skip)
        for group in fused.param_groups:
            group["lr"] = rate
        fused.grad_scale, fused.found_inf = None, skip.float()
        fused.step()
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))
    for name, parameter in theirs.named_parameters():
        for key, value in fused.state[parameter].items():
            assert torch.equal(optimizer.state[name][key], value), (name, key)


def test_saved_state_goes_on_exactly_and_foreign_state_is_refused():
    whole, parted = pair()
    optimizer = AdamW(Config(), whole)
    first = AdamW(Config(), parted)
    for step in range(4):
        set_gradients(whole, step)
        optimizer.update(learning_rate=0.1, skip=NEVER)
    for step in range(2):
        set_gradients(parted, step)
        first.update(learning_rate=0.1, skip=NEVER)
    second = AdamW(Config(), parted)
    second.load_state_tensors({k: v.clone() for k, v in first.state_tensors().items()})
    for step in range(2, 4):
        set_gradients(parted, step)
        second.update(learning_rate=0.1, skip=NEVER)
    assert torch.equal(whole.weight, parted.weight)
    with pytest.raises(KeyError):
        second.load_state_tensors({"other.step": torch.tensor(1.0)})
    with pytest.raises(KeyError):
        AdamW(Config(), nn.Linear(4, 3)).load_state_tensors(first.state_tensors())


def test_a_fresh_optimizer_has_no_state_and_takes_none():
    optimizer = AdamW(Config(), nn.Linear(5, 3))
    assert optimizer.state_tensors() == {}
    optimizer.load_state_tensors({})
    assert optimizer.state_tensors() == {}

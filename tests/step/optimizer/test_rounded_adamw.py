import lzma
from pathlib import Path

import pytest
import torch
from torch import nn

import trimtab.demo
from trimtab.config.optimizers import AdamW as Config
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.optimizer.rounded_adamw import RoundedAdamW, in_slices

NEVER, ALWAYS = torch.tensor(False), torch.tensor(True)


def linear(dtype=torch.float32):
    torch.manual_seed(0)
    return nn.Linear(40, 30).to(dtype)


def set_gradients(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for p in model.parameters():
        p.grad = torch.randn(p.shape, generator=generator).to(p.dtype)


def copies(optimizer):
    tensors = [*optimizer.parameters, *optimizer.state_tensors().values()]
    return [tensor.detach().clone() for tensor in tensors]


def test_weights_in_float32_move_as_by_the_other_adamw_and_states_can_be_exchanged():
    config = Config(betas=(0.9, 0.98), eps=1e-6, weight_decay=0.1)
    one, two = linear(), linear()
    ours, theirs = RoundedAdamW(config, one), AdamW(config, two)
    for step in range(4):
        for model, optimizer in ((one, ours), (two, theirs)):
            set_gradients(model, step)
            optimizer.update(learning_rate=0.1 / (step + 1), skip=torch.tensor(step == 2))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)
    assert set(ours.state_tensors()) == set(theirs.state_tensors())
    RoundedAdamW(config, linear()).load_state_tensors(theirs.state_tensors())
    assert isinstance(ours, Optimizer)


def test_a_skipped_update_keeps_every_bit_of_weights_and_moments():
    model = linear(torch.bfloat16)
    optimizer = RoundedAdamW(Config(weight_decay=0.1), model)
    set_gradients(model, 0)
    optimizer.update(learning_rate=0.1, skip=NEVER)
    before = copies(optimizer)
    for p in model.parameters():
        p.grad = torch.full_like(p, float("nan"))
    optimizer.update(learning_rate=0.1, skip=ALWAYS)
    for old, new in zip(before, copies(optimizer), strict=True):
        assert torch.equal(old, new)


def test_updates_in_bfloat16_are_right_on_average_and_those_below_its_steps_are_not_lost():
    # Far below half of a step of bfloat16 at 1, which is 0.0039.
    config, rate, steps = Config(betas=(0.9, 0.98)), 1e-4, 50
    model = nn.Linear(100, 100, bias=False).to(torch.bfloat16)
    exact = nn.Linear(100, 100, bias=False)
    for each in (model, exact):
        nn.init.ones_(each.weight)
    optimizers = [RoundedAdamW(config, model), AdamW(config, exact)]
    torch.manual_seed(1)
    for step in range(steps):
        for each, optimizer in zip((model, exact), optimizers, strict=True):
            each.weight.grad = torch.full_like(each.weight, 1.0 + step % 2)
            optimizer.update(learning_rate=rate, skip=NEVER)
    moved = 1 - float(exact.weight.detach().double().mean())
    assert moved == pytest.approx(rate * steps, rel=0.05)
    assert 1 - float(model.weight.detach().double().mean()) == pytest.approx(moved, rel=0.1)


def test_saved_state_goes_on_exactly_in_the_same_storage_and_foreign_state_is_refused():
    model = linear(torch.bfloat16)
    optimizer = RoundedAdamW(Config(), model)
    set_gradients(model, 0)
    optimizer.update(learning_rate=0.1, skip=NEVER)
    saved = {name: tensor.clone() for name, tensor in optimizer.state_tensors().items()}
    weights = [p.detach().clone() for p in model.parameters()]

    def second():
        set_gradients(model, 1)
        torch.manual_seed(7)
        optimizer.update(learning_rate=0.1, skip=NEVER)
        return copies(optimizer)

    places = [tensor.data_ptr() for tensor in optimizer.state_tensors().values()]
    whole = second()
    optimizer.load_state_tensors(saved)
    for p, old in zip(model.parameters(), weights, strict=True):
        p.data.copy_(old)
    assert all(torch.equal(a, b) for a, b in zip(whole, second(), strict=True))
    assert places == [tensor.data_ptr() for tensor in optimizer.state_tensors().values()]
    with pytest.raises(KeyError, match="differs"):
        optimizer.load_state_tensors({"weight.step": torch.zeros(())})
    with pytest.raises(KeyError, match="shape"):
        optimizer.load_state_tensors({name: torch.zeros(2) for name in saved})


def test_slices_hold_every_name_once_and_few_weights_at_a_time():
    group = {f"w{i}": nn.Parameter(torch.zeros(size)) for i, size in enumerate((5, 3, 3, 20, 1))}
    assert list(in_slices(group, largest=6)) == [["w0"], ["w1", "w2"], ["w3"], ["w4"]]
    assert list(in_slices({})) == []


def bytes_of_real_text():
    packed = Path(trimtab.demo.__file__).parent / "data" / "train.tsv.xz"
    text = lzma.decompress(packed.read_bytes())[:20_000]
    return torch.tensor(list(text))


def last_loss(dtype, optimizer_of, rate=1e-2):
    """Of a model that guesses the next byte from the two before it."""
    torch.manual_seed(0)
    text = bytes_of_real_text()
    model = nn.Sequential(nn.Embedding(256, 16), nn.Flatten(), nn.Linear(32, 256))
    model.to(dtype)
    optimizer, losses = optimizer_of(model), []
    for step in range(80):
        at = torch.randint(len(text) - 2, (128,), generator=torch.Generator().manual_seed(step))
        logits = model(torch.stack([text[at], text[at + 1]], 1)).float()
        loss = nn.functional.cross_entropy(logits, text[at + 2])
        loss.backward()
        optimizer.update(learning_rate=rate, skip=NEVER)
        losses.append(float(loss.detach()))
        for p in model.parameters():
            p.grad = None
    return sum(losses[-20:]) / 20


def test_real_text_is_learned_in_bfloat16_as_well_as_in_float32():
    exact = last_loss(torch.float32, lambda model: AdamW(Config(), model))
    rounded = last_loss(torch.bfloat16, lambda model: RoundedAdamW(Config(), model))
    assert exact < 3.2  # from 5.5
    assert rounded == pytest.approx(exact, abs=0.1)

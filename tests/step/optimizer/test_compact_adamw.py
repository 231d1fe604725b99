import copy
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from trimtab.config.optimizers import AdamW as Config
from trimtab.config.optimizers import StableAdamW as StableConfig
from trimtab.step.optimizer import block_states as blocks
from trimtab.step.optimizer import compact_adamw
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.compact_adamw import CompactAdamW
from trimtab.step.optimizer.protocol import Optimizer, UpdatesTensors
from trimtab.step.optimizer.stable_adamw import StableAdamW

NEVER, ALWAYS = torch.tensor(False), torch.tensor(True)
STATES = ("bfloat16", "8bit", "4bit")


def model(dtype=torch.float32):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(90, 70), nn.LayerNorm(70)).to(dtype)


def set_gradients(layers, seed):
    generator = torch.Generator().manual_seed(seed)
    for p in layers.parameters():
        p.grad = (torch.randn(p.shape, generator=generator) + 0.5).to(p.dtype)


def tensors(optimizer):
    return [each.detach().clone() for each in (*optimizer.parameters, *optimizer.state_tensors().values())]


def after(config, layers, *, kind=CompactAdamW, steps=8):
    optimizer = kind(config, layers)
    for step in range(steps):
        set_gradients(layers, step)
        optimizer.update(learning_rate=0.01, skip=NEVER)
    return [each.detach().clone() for each in layers.parameters()]


@pytest.mark.quick("AdamW-AdamW-bfloat16-0.01", "StableAdamW-StableAdamW-4bit-0.2")
@pytest.mark.parametrize(("states", "near"), [("bfloat16", 0.01), ("8bit", 0.03), ("4bit", 0.2)])
@pytest.mark.parametrize(("config", "exact"), [(Config, AdamW), (StableConfig, StableAdamW)])
def test_weights_move_as_with_states_in_float32(config, exact, states, near):
    begun = [each.detach().clone() for each in model().parameters()]
    wanted = after(config(weight_decay=0.1), model(), kind=exact)
    found = after(config(weight_decay=0.1, states=states), model())
    for first, one, other in zip(begun, wanted, found, strict=True):
        assert float((one - other).norm() / (one - first).norm()) < near
    for one, other in zip(wanted[1:], found[1:], strict=True):  # small tensors keep float32
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("states", STATES)
def test_a_skipped_update_keeps_every_bit(states, dtype):
    layers = model(dtype)
    optimizer = CompactAdamW(Config(states=states, weight_decay=0.1), layers)
    set_gradients(layers, 0)
    optimizer.update(learning_rate=0.1, skip=NEVER)
    before = tensors(optimizer)
    for p in layers.parameters():
        p.grad = torch.full_like(p, float("nan"))
    optimizer.update(learning_rate=0.1, skip=ALWAYS)
    assert all(torch.equal(old, new) for old, new in zip(before, tensors(optimizer), strict=True))


@pytest.mark.quick("bfloat16-as_stored", "4bit-24bit")
@pytest.mark.parametrize("weights", ["as_stored", "24bit"])
@pytest.mark.parametrize("states", STATES)
def test_saved_state_goes_on_to_the_bit(states, weights):
    config = Config(states=states, weights=weights, weight_decay=0.1)
    one = model(torch.bfloat16)
    first = CompactAdamW(config, one)
    for step in range(3):
        set_gradients(one, step)
        first.update(learning_rate=0.01, skip=NEVER)
    two = copy.deepcopy(one)
    second = CompactAdamW(config, two)
    second.load_state_tensors({name: each.clone() for name, each in first.state_tensors().items()})
    for step in range(3, 5):
        for layers, optimizer in ((one, first), (two, second)):
            set_gradients(layers, step)
            optimizer.update(learning_rate=0.01, skip=NEVER)
    assert all(torch.equal(a, b) for a, b in zip(tensors(first), tensors(second), strict=True))
    with pytest.raises(KeyError, match="differs"):
        CompactAdamW(Config(states="8bit" if states == "4bit" else "4bit"), model()).load_state_tensors(
            {"0.weight.exp_avg": torch.zeros(1)}
        )


@pytest.mark.quick("bfloat16", "4bit")
@pytest.mark.parametrize("states", STATES)
def test_updates_far_below_the_steps_of_bfloat16_are_not_lost(states):
    layers = nn.Linear(100, 100, bias=False).to(torch.bfloat16)
    nn.init.ones_(layers.weight)
    optimizer, rate, steps = CompactAdamW(Config(states=states), layers), 1e-4, 30
    for _ in range(steps):
        layers.weight.grad = torch.ones_like(layers.weight)
        optimizer.update(learning_rate=rate, skip=NEVER)
    # 0.003 in all, where bfloat16 has a step of 0.0039 below one; each of 10,000 weights draws for itself.
    assert 1 - float(layers.weight.detach().double().mean()) == pytest.approx(rate * steps, rel=0.06)


def test_small_tensors_remember_what_bfloat16_rounds_off():
    layers = nn.LayerNorm(50, bias=False).to(torch.bfloat16)
    optimizer = CompactAdamW(Config(states="8bit"), layers)
    for _ in range(30):
        layers.weight.grad = torch.ones_like(layers.weight)
        optimizer.update(learning_rate=1e-4, skip=NEVER)
    wide = layers.weight.detach().float() + optimizer.state["weight"]["rounded_off"]
    assert torch.allclose(wide, torch.full((50,), 1 - 30e-4), atol=1e-6)
    optimizer.load_state_tensors({})
    assert not optimizer.state["weight"]["rounded_off"].any()


def test_8_more_bits_round_256_times_finer():
    spread = {}
    for weights in ("as_stored", "24bit"):
        layers = nn.Linear(100, 100, bias=False).to(torch.bfloat16)
        nn.init.ones_(layers.weight)
        optimizer = CompactAdamW(Config(states="8bit", weights=weights), layers)
        for _ in range(10):
            layers.weight.grad = torch.ones_like(layers.weight)
            optimizer.update(learning_rate=1e-4, skip=NEVER)
        off = optimizer.state["weight"].get("rounded_off")
        wide = layers.weight.detach().float().view(-1)
        wide = wide if off is None else blocks.widened(layers.weight.detach().view(-1), off.view(-1))
        spread[weights] = float(wide.std())
    assert spread["24bit"] < spread["as_stored"] / 50


def test_states_have_the_bytes_that_they_are_for():
    layers = nn.Linear(512, 512, bias=False)
    for states, each in (("bfloat16", 4.0), ("8bit", 2.0625), ("4bit", 1.0625)):
        held = CompactAdamW(Config(states=states), layers).state_tensors().values()
        assert sum(tensor.nbytes for tensor in held) == pytest.approx(each * 512 * 512, rel=1e-4)


def test_a_tensor_is_updated_the_same_in_slices(monkeypatch):
    config = Config(states="8bit", weight_decay=0.1)
    whole = after(config, model(torch.bfloat16))
    monkeypatch.setattr(compact_adamw, "AT_ONCE", 1024)
    sliced = after(config, model(torch.bfloat16))
    assert all(torch.equal(one, other) for one, other in zip(whole, sliced, strict=True))


def test_it_is_an_optimizer_that_updates_single_tensors():
    optimizer = CompactAdamW(Config(states="8bit"), model())
    assert isinstance(optimizer, Optimizer)
    assert isinstance(optimizer, UpdatesTensors)
    assert not compact_adamw.kernel_works_on(torch.device("cpu"), bits=8, dtype=torch.float32)


FORMS = [(torch.float32, False), (torch.bfloat16, False), (torch.bfloat16, True)]


@pytest.mark.parametrize("bits", [16, 8, 4])
@pytest.mark.parametrize(("dtype", "keeps"), FORMS)
def test_the_check_of_the_kernel_takes_what_is_right_and_nothing_else(dtype, keeps, bits):
    form = {"bits": bits, "dtype": dtype, "keeps": keeps}
    apart = compact_adamw.share_apart
    assert apart(compact_adamw.move_slices, torch.device("cpu"), **form) == 0

    def slower(*given, **settings):
        settings["decays"] = settings["decays"]._replace(first=0.91)
        compact_adamw.move_slices(*given, **settings)

    assert apart(slower, torch.device("cpu"), **form) > compact_adamw.MOST_APART


def test_a_kernel_that_fails_is_left_aside_with_the_reason(monkeypatch):
    monkeypatch.setattr(compact_adamw, "triton_runs_on", lambda device: True)

    def broken(*given, **settings):
        raise RuntimeError("no compiler\nsecond line")

    for apart, reason in (
        (broken, "RuntimeError: no compiler"),
        (lambda *_, **__: 0.5, "50.00% of its results"),
    ):
        monkeypatch.setattr(compact_adamw, "share_apart", apart)
        monkeypatch.setitem(sys.modules, "trimtab.step.optimizer.adamw_kernels", SimpleNamespace(move=broken))
        compact_adamw.kernel_failure.cache_clear()
        with pytest.warns(UserWarning, match=f"8 bits, weights in float32: {reason}"):
            assert not compact_adamw.kernel_works_on(torch.device("cpu"), bits=8, dtype=torch.float32)
    compact_adamw.kernel_failure.cache_clear()

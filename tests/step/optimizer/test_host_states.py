import copy

import pytest
import torch
from torch import nn

from trimtab.config.optimizers import AdamW, Lion, StableAdamW
from trimtab.errors import InputError
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.optimizer.host_states import HostStates, on_host

KINDS = {
    "float32": AdamW(weight_decay=0.1),
    "8bit": AdamW(states="8bit"),
    "4bit, stable": StableAdamW(states="4bit"),
}


def model_of(dtype):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(70, 64), nn.LayerNorm(64), nn.Linear(64, 66)).to(dtype)


def moved(config, dtype, *, offloaded, steps=3, order=None, resume_at=None):
    """Weights and states after some updates, the second of which is skipped."""
    model = model_of(dtype)
    made = build_optimizer(config, model, by_tensor=True, on_host=offloaded)
    for step in range(steps):
        if step == resume_at:
            saved = {name: each.clone() for name, each in made.state_tensors().items()}
            made = build_optimizer(config, model, by_tensor=True, on_host=offloaded)
            made.load_state_tensors(saved)
        generator = torch.Generator().manual_seed(step)
        torch.manual_seed(step)
        for each in model.parameters():
            each.grad = torch.randn(each.shape, generator=generator).to(dtype)
        skip = torch.tensor(step == 1)
        if order is None:
            made.update(learning_rate=1e-2, skip=skip)
            continue
        for name in order(list(made.named)):
            made.update_tensor(name, learning_rate=1e-2, skip=skip)
        made.after_update(skip=skip)
    return {**dict(model.named_parameters()), **made.state_tensors()}, made


def assert_same(first, second):
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.quick("float32-dtype0", "8bit-dtype1", "4bit, stable-dtype0")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_updates_are_those_of_states_on_the_device_to_the_bit(kind, dtype):
    plain, _ = moved(KINDS[kind], dtype, offloaded=False)
    offloaded, made = moved(KINDS[kind], dtype, offloaded=True)
    assert isinstance(made, HostStates)
    assert_same(plain, offloaded)
    assert_same(plain, moved(KINDS[kind], dtype, offloaded=True, resume_at=2)[0])


def test_the_order_of_a_backward_pass_is_learned_and_makes_no_difference():
    def backwards(names):
        return names[::-1]

    plain, _ = moved(KINDS["8bit"], torch.float32, offloaded=False, order=backwards)
    offloaded, made = moved(KINDS["8bit"], torch.float32, offloaded=True, order=backwards)
    assert_same(plain, offloaded)
    assert made.order == list(made.named)[::-1]
    assert not made.arriving


def test_the_next_tensor_comes_while_one_is_updated_and_another_order_is_no_harm():
    _, made = moved(KINDS["8bit"], torch.float32, offloaded=True)
    first, second, *_ = names = made.order
    made.update_tensor(first, learning_rate=1e-2, skip=torch.tensor(False))
    assert set(made.arriving) == {second}
    made.update_tensor(names[2], learning_rate=1e-2, skip=torch.tensor(False))
    made.after_update(skip=torch.tensor(False))
    assert not made.arriving
    # what came ahead and was not used must not be used later, when it is old
    plain, other = moved(KINDS["8bit"], torch.float32, offloaded=False)
    for name in (first, names[2]):
        other.update_tensor(name, learning_rate=1e-2, skip=torch.tensor(False))
    assert_same({**plain, **other.state_tensors()}, {**plain, **made.state_tensors()})


def test_a_copy_has_states_of_its_own():
    _, made = moved(KINDS["8bit"], torch.float32, offloaded=True)
    before = {name: each.clone() for name, each in made.state_tensors().items()}
    twin = copy.deepcopy(made)
    for each in twin.parameters:
        each.grad = torch.ones_like(each)
    twin.update(learning_rate=1e-2, skip=torch.tensor(False))
    assert_same(before, made.state_tensors())


def test_small_parts_stay_where_they_are():
    small, large = torch.zeros(8), torch.zeros(5000)
    assert on_host({"step": small, "exp_avg": large})["step"] is small


def test_an_optimizer_without_such_states_is_refused():
    with pytest.raises(InputError, match="not for this optimizer"):
        build_optimizer(Lion(), model_of(torch.float32), on_host=True)


@pytest.mark.slow
def test_a_run_trains_the_same_with_states_on_the_host(tmp_path):
    from tests.small_run import small_parts

    tiny = {"model.dim": 64, "model.heads": 1, "model.feed_forward": 64, "model.dropout": 0.0}
    results = []
    for name, changes in {
        "plain": {},
        "host": {"step.offload": "optimizer_states"},
        "released": {
            "step.offload": "optimizer_states",
            "step.gradients": "released",
            "step.tokens_per_micro_batch": 256,
        },
    }.items():
        parts = small_parts(tmp_path / name, **tiny, **changes)
        window = next(parts.stream.batches(0))[1]
        for _ in range(2):
            parts.stepper.take_step(window, learning_rate=1e-2)
        results.append(dict(parts.model.named_parameters()))
    plain, host, released = results
    assert_same(plain, host)
    for name, weights in plain.items():  # one micro-batch in place of two: another order of additions
        torch.testing.assert_close(released[name], weights, atol=2e-3, rtol=1e-3)

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from trimtab.config.optimizers import SGD, Adafactor, AdamW, Lion, StableAdamW
from trimtab.config.step import Ema
from trimtab.step.optimizer.averaged_weights import COUNT, PREFIX, has_means, with_means
from trimtab.step.optimizer.build import build_optimizer

KINDS = [AdamW(), Adafactor(), StableAdamW(), Lion(), SGD()]


def begun(config=None, *, ema=None, weight_clip=None):
    config = config or SGD()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)).double()
    return model, build_optimizer(config, model, weight_clip=weight_clip, ema=ema)


def steps(model, optimizer, numbers, *, skipped=()):
    """One update for each number, whose gradients follow from it; gives the weights after each."""
    seen = []
    for number in numbers:
        draw = torch.Generator().manual_seed(number)
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=draw).to(parameter.dtype)
        optimizer.update(learning_rate=0.05, skip=torch.tensor(number in skipped))
        seen.append(copies(model.state_dict()))
    return seen


def copies(tensors):
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def closed_form(first, seen, ema):
    """The mean as a weighted sum: the weights of refresh t count (1 - d_t) d_{t+1} ... d_T, the first d_1 ... d_T."""
    refreshed = seen[ema.every - 1 :: ema.every]
    decays = [
        min(ema.decay, (1 + t) / (10 + t)) if ema.warmup else ema.decay for t in range(1, len(refreshed) + 1)
    ]
    shares = [torch.tensor(decays[i:], dtype=torch.float64).prod() for i in range(len(decays) + 1)]
    total = {name: shares[0] * tensor for name, tensor in first.items()}
    for i, weights in enumerate(refreshed):
        for name, tensor in weights.items():
            total[name] = total[name] + (1 - decays[i]) * shares[i + 1] * tensor
    return total


@pytest.mark.slow
@given(
    st.builds(Ema, decay=st.floats(0, 0.99999), warmup=st.booleans(), every=st.integers(1, 4)),
    st.lists(st.booleans(), max_size=14),
)
def test_the_mean_is_the_weighted_sum_of_the_weights_after_each_update_that_was_not_skipped(ema, skips):
    model, optimizer = begun(ema=ema)
    first = copies(model.state_dict())
    skipped = {number for number, skip in enumerate(skips) if skip}
    seen = steps(model, optimizer, range(len(skips)), skipped=skipped)
    updated = [weights for number, weights in enumerate(seen) if number not in skipped]
    wanted = closed_form(first, updated, ema)
    assert int(optimizer.state_tensors()[COUNT]) == len(updated)
    for name, tensor in with_means(first, optimizer.state_tensors()).items():
        torch.testing.assert_close(tensor, wanted[name], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("config", KINDS, ids=lambda c: c.kind)
@pytest.mark.parametrize("weight_clip", [None, 1.2])
def test_weights_and_moments_are_those_without_it(config, weight_clip):
    plain, bare = begun(config, weight_clip=weight_clip)
    averaged, around = begun(config, weight_clip=weight_clip, ema=Ema(decay=0.5))
    for model, optimizer in ((plain, bare), (averaged, around)):
        steps(model, optimizer, range(6), skipped={2})
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), averaged.parameters(), strict=True))
    state = around.state_tensors()
    for name, tensor in bare.state_tensors().items():
        assert torch.equal(state.pop(name), tensor)
    assert {name.removeprefix(PREFIX) for name in state} == {COUNT, *averaged.state_dict()}


def test_what_is_averaged_are_weights_within_their_bounds():
    model, optimizer = begun(SGD(momentum=0.0), weight_clip=1.0, ema=Ema(decay=0.9))
    bounds = {name: tensor.abs().max() for name, tensor in model.state_dict().items() if tensor.ndim == 2}
    steps(model, optimizer, range(30))
    means = optimizer.state_tensors()
    assert all((means[PREFIX + name].abs() <= bound).all() for name, bound in bounds.items())


@pytest.mark.parametrize("config", KINDS, ids=lambda c: c.kind)
def test_a_skipped_update_changes_no_bit_and_all_state_stays_in_its_memory(config):
    model, optimizer = begun(config, ema=Ema())
    steps(model, optimizer, range(3))
    before = copies(optimizer.state_tensors())
    places = {name: tensor.data_ptr() for name, tensor in optimizer.state_tensors().items()}
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, torch.nan)
    optimizer.update(learning_rate=0.1, skip=torch.tensor(True))
    assert all(torch.equal(tensor, before[name]) for name, tensor in optimizer.state_tensors().items())
    optimizer.load_state_tensors(before)
    means = {name for name in places if name.startswith("ema.")}
    assert {name: optimizer.state_tensors()[name].data_ptr() for name in means} == {
        name: places[name] for name in means
    }


@pytest.mark.parametrize("config", KINDS, ids=lambda c: c.kind)
def test_resumed_anywhere_it_has_the_bits_of_one_that_never_stopped(config):
    ema = Ema(decay=0.99, every=2)
    whole, optimizer = begun(config, ema=ema)
    steps(whole, optimizer, range(8), skipped={3})
    stopped, before = begun(config, ema=ema)
    steps(stopped, before, range(5), skipped={3})
    resumed, after = begun(config, ema=ema)
    resumed.load_state_dict(copies(stopped.state_dict()))
    after.load_state_tensors(copies(before.state_tensors()))
    steps(resumed, after, range(5, 8))
    mine, wanted = after.state_tensors(), optimizer.state_tensors()
    assert mine.keys() == wanted.keys()
    assert all(torch.equal(mine[name], wanted[name]) for name in wanted)


def test_state_of_other_weights_is_refused_by_name():
    _, optimizer = begun(ema=Ema())
    state = copies(optimizer.state_tensors())
    with pytest.raises(KeyError, match=r"differ in .*ema\.weights\.0\.bias"):
        optimizer.load_state_tensors({name: state[name] for name in state if name != PREFIX + "0.bias"})
    with pytest.raises(KeyError, match=r"ema\.weights\.0\.bias has shape \(9,\), not \(4,\)"):
        optimizer.load_state_tensors({**state, PREFIX + "0.bias": torch.zeros(9)})
    _, plain = begun(SGD())
    with pytest.raises(KeyError, match="differ"):
        optimizer.load_state_tensors(copies(plain.state_tensors()))


def test_from_nothing_the_mean_begins_with_the_weights_as_they_are():
    model, optimizer = begun(ema=Ema())
    steps(model, optimizer, range(3))
    optimizer.load_state_tensors({})
    state = optimizer.state_tensors()
    assert int(state[COUNT]) == 0
    assert all(torch.equal(state[PREFIX + name], tensor) for name, tensor in model.state_dict().items())


def test_a_copy_has_the_means_and_the_model_keeps_its_weights():
    model, optimizer = begun(ema=Ema(decay=0.9))
    model.register_buffer("table", torch.arange(3.0))
    model[0].bias.requires_grad_(False)
    _, optimizer = model, build_optimizer(SGD(), model, ema=Ema(decay=0.9))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.update(learning_rate=0.1, skip=torch.tensor(False))
    before = copies(model.state_dict())
    averaged = optimizer.averaged_copy(model).state_dict()
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert torch.equal(averaged["0.bias"], before["0.bias"]), "not trained, so not averaged"
    assert torch.equal(averaged["table"], before["table"])
    assert torch.equal(averaged["0.weight"], optimizer.state_tensors()[PREFIX + "0.weight"])
    assert not torch.equal(averaged["0.weight"], before["0.weight"])


def test_whether_a_state_has_means_shows_in_its_names():
    assert has_means(begun(ema=Ema())[1].state_tensors())
    assert not has_means(begun()[1].state_tensors())


@pytest.mark.gpu
def test_recorded_once_and_launched_again_it_is_what_it_is_step_by_step():
    def on_gpu():
        torch.manual_seed(0)
        model = nn.Linear(64, 64).cuda()
        return model, build_optimizer(AdamW(), model, ema=Ema(decay=0.99, every=2))

    def push(model, optimizer, rate, skip):
        for parameter in model.parameters():
            parameter.grad = parameter.detach() + 1
        optimizer.update(learning_rate=rate, skip=skip)

    (plain, one), (recorded, other) = on_gpu(), on_gpu()
    rate = torch.tensor(1e-3, device="cuda")
    skip = torch.tensor(False, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            push(recorded, other, rate, skip)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        push(recorded, other, rate, skip)
    for step in range(6):
        skip.fill_(step == 2)
        graph.replay()
    for step in range(-3, 6):
        push(plain, one, rate, torch.tensor(step == 2, device="cuda"))
    mine, wanted = other.state_tensors(), one.state_tensors()
    assert all(torch.equal(mine[name], wanted[name]) for name in wanted)

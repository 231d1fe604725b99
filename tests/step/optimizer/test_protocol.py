import pytest
import torch
from torch import nn

from tests.optimizer_kinds import OPTIMIZERS
from trimtab.config.optimizers import Adafactor as AdafactorConfig
from trimtab.config.optimizers import AdamW as AdamWConfig
from trimtab.step.optimizer.adafactor import Adafactor
from trimtab.step.optimizer.adamw import AdamW
from trimtab.step.optimizer.build import choose_optimizer
from trimtab.step.optimizer.protocol import Optimizer

KINDS = [(AdamW, AdamWConfig(weight_decay=0.1)), (Adafactor, AdafactorConfig(weight_decay=0.1))]
ALL = pytest.mark.parametrize(("kind", "config"), KINDS, ids=["adamw", "adafactor"])
YES, NO = torch.tensor(True), torch.tensor(False)


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(7, 5), nn.Linear(5, 3))


def moved(optimizer, seed, *, skip=NO, gradient=None):
    generator = torch.Generator().manual_seed(seed)
    for parameter in optimizer.parameters:
        drawn = torch.randn(parameter.shape, generator=generator)
        parameter.grad = drawn if gradient is None else torch.full_like(drawn, gradient)
    optimizer.update(learning_rate=0.1, skip=skip)


def snapshot(optimizer):
    state = {name: tensor.clone() for name, tensor in optimizer.state_tensors().items()}
    return [parameter.detach().clone() for parameter in optimizer.parameters], state


@ALL
def test_each_optimizer_keeps_the_protocol_and_an_optimizer_of_pytorch_does_not(kind, config):
    assert isinstance(kind(config, model()), Optimizer)
    assert not isinstance(torch.optim.AdamW(model().parameters()), Optimizer)


@ALL
def test_it_moves_every_trainable_parameter_and_no_other(kind, config):
    net = model()
    net[1].bias.requires_grad_(False)
    optimizer = kind(config, net)
    assert {id(each) for each in optimizer.parameters} == {id(net[0].weight), id(net[1].weight)}
    before, _ = snapshot(optimizer)
    moved(optimizer, 1)
    assert all(not torch.equal(one, other) for one, other in zip(before, optimizer.parameters, strict=True))


@ALL
@pytest.mark.parametrize("gradient", [None, float("nan"), float("inf")])
def test_a_skipped_update_changes_nothing_whatever_the_gradient_is(kind, config, gradient):
    optimizer = kind(config, model())
    moved(optimizer, 1)
    weights, state = snapshot(optimizer)
    moved(optimizer, 2, skip=YES, gradient=gradient)
    assert all(torch.equal(one, other) for one, other in zip(weights, optimizer.parameters, strict=True))
    now = optimizer.state_tensors()
    assert now.keys() == state.keys()
    assert all(torch.equal(now[name], tensor) for name, tensor in state.items())


@ALL
def test_a_skipped_update_leaves_no_trace_in_those_that_follow(kind, config):
    plain, skipping = kind(config, model()), kind(config, model())
    for optimizer in (plain, skipping):
        moved(optimizer, 1)
    moved(skipping, 9, skip=YES)
    for optimizer in (plain, skipping):
        moved(optimizer, 2)
    assert all(map(torch.equal, plain.parameters, skipping.parameters))


@ALL
def test_it_goes_on_from_saved_state_as_if_it_had_never_stopped(kind, config):
    whole, parted = kind(config, model()), kind(config, model())
    for optimizer in (whole, parted):
        moved(optimizer, 1)
    net = model()
    resumed = kind(config, net)
    with torch.no_grad():
        for ours, saved in zip(resumed.parameters, parted.parameters, strict=True):
            ours.copy_(saved)
    resumed.load_state_tensors(snapshot(parted)[1])
    for optimizer in (whole, resumed):
        moved(optimizer, 2)
    assert all(map(torch.equal, whole.parameters, resumed.parameters))


@ALL
def test_state_of_another_model_is_refused(kind, config):
    optimizer = kind(config, model())
    moved(optimizer, 1)
    with pytest.raises(KeyError):
        kind(config, nn.Linear(5, 3)).load_state_tensors(optimizer.state_tensors())


EVERY = [kind() for kind in OPTIMIZERS]


def spoilt(state):
    """Saved state with a name more, with one less for each, and with another shape for each."""
    yield {**state, "another": torch.zeros(())}
    for name in state:
        yield {other: tensor for other, tensor in state.items() if other != name}
        yield {**state, name: torch.zeros(2, 9, 4)}
        yield {**state, name: torch.zeros(1, dtype=state[name].dtype)}


@pytest.mark.quick(
    "False-False-adamw",
    "False-False-ademamix",
    "False-True-sgd",
    "True-False-stable_adamw",
    "True-True-adafactor",
    "True-True-muon",
)
@pytest.mark.parametrize("config", EVERY, ids=lambda config: config.kind)
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("used", [False, True])
def test_of_saved_state_neither_a_name_nor_a_shape_may_differ(config, narrow, used):
    def fresh():
        return choose_optimizer(config, model().to(torch.bfloat16) if narrow else model())

    optimizer = fresh()
    moved_in_its_own_precision(optimizer)
    _, state = snapshot(optimizer)
    assert state
    for wrong in spoilt(state):
        other = fresh()
        if used:
            moved_in_its_own_precision(other)
        with pytest.raises(KeyError):
            other.load_state_tensors(wrong)
    fresh().load_state_tensors(state)


def moved_in_its_own_precision(optimizer):
    generator = torch.Generator().manual_seed(1)
    for parameter in optimizer.parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)
    optimizer.update(learning_rate=0.1, skip=NO)

import pytest
import torch
from torch import nn

from trimtab.config.optimizers import SGD
from trimtab.step.optimizer.build import build_optimizer

NEVER, ALWAYS = torch.tensor(False), torch.tensor(True)


def pushed(at, *, skip):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    first = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = build_optimizer(SGD(momentum=0.0), model, weight_clip=at)
    model.weight.grad, model.bias.grad = torch.full((2, 3), -100.0), torch.full((2,), -100.0)
    optimizer.update(learning_rate=1.0, skip=skip)
    return first, model


@pytest.mark.parametrize("at", [1.0, 2.5])
def test_no_entry_of_a_matrix_leaves_its_bounds_and_biases_are_free(at):
    first, model = pushed(at, skip=NEVER)
    assert float(model.weight.detach().abs().max()) == pytest.approx(at * float(first["weight"].abs().max()))
    torch.testing.assert_close(model.bias.data, first["bias"] + 100)


def test_a_skipped_update_changes_nothing():
    first, model = pushed(1.0, skip=ALWAYS)
    assert torch.equal(model.weight, first["weight"])


def test_its_state_is_that_of_the_optimizer_inside():
    model = nn.Linear(3, 2)
    bare, wrapped = build_optimizer(SGD(), model), build_optimizer(SGD(), model, weight_clip=1.0)
    assert wrapped.state_tensors().keys() == bare.state_tensors().keys()
    assert [id(p) for p in wrapped.parameters] == [id(p) for p in bare.parameters]


def test_a_resumed_run_has_the_bounds_and_the_weights_of_one_that_never_stopped():
    def begun():
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        return model, build_optimizer(SGD(), model, weight_clip=1.5)

    def steps(model, optimizer, numbers):
        for number in numbers:
            generator = torch.Generator().manual_seed(number)
            for parameter in model.parameters():
                parameter.grad = torch.randn(parameter.shape, generator=generator)
            optimizer.update(learning_rate=0.3, skip=NEVER)

    whole, optimizer = begun()
    steps(whole, optimizer, range(8))
    stopped, before = begun()
    steps(stopped, before, range(4))
    weights = {name: tensor.clone() for name, tensor in stopped.state_dict().items()}
    moments = {name: tensor.clone() for name, tensor in before.state_tensors().items()}
    # As a run does it: the first weights from the seed, which the bounds are read from, then those of the checkpoint.
    resumed, after = begun()
    resumed.load_state_dict(weights)
    after.load_state_tensors(moments)
    assert [float(a) for a in after.bounds] == [float(b) for b in optimizer.bounds]
    steps(resumed, after, range(4, 8))
    assert all(torch.equal(a, b) for a, b in zip(resumed.parameters(), whole.parameters(), strict=True))
    assert float(resumed.weight.detach().abs().max()) == float(optimizer.bounds[0]), (
        "the bound has been at work"
    )

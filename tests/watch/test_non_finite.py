import pytest
import torch
from torch import nn

from tests.streams import pack_of
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.watch.non_finite import first_non_finite


class Root(nn.Module):
    """Finite at zero, but its slope is not."""

    def forward(self, x):
        return x.abs().sqrt()


class Inverse(nn.Module):
    def forward(self, x):
        return 1 / x


def network(*middle: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), *middle, nn.Linear(4, 2))


def ran(model, x=None):
    x = torch.ones(3, 4) if x is None else x
    return first_non_finite(model, lambda: model(x).square().mean())


def test_a_healthy_model_has_none():
    assert ran(network()) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["0.weight", "0.bias", "2.weight"])
def test_a_parameter_is_named_before_anything_runs(name, value):
    model = network()
    with torch.no_grad():
        model.get_parameter(name).view(-1)[1] = value
    found = ran(model)
    assert (found.place, found.name, found.count) == ("parameter", name, 1)
    assert name in str(found)


def test_the_first_module_that_makes_it_of_finite_inputs_is_named():
    model = network(nn.ReLU(), Inverse(), nn.ReLU())
    with torch.no_grad():
        model[0].weight.fill_(-1)
        model[0].bias.zero_()
    found = ran(model)
    assert (found.place, found.name, found.kind) == ("forward", "3", "Inverse")
    assert (found.count, found.total) == (12, 12)


def test_an_input_that_is_not_finite_is_not_blamed_on_a_module():
    found = ran(network(), torch.tensor([[1.0, float("nan"), 0.0, 0.0]]))
    assert (found.place, found.name) == ("input", "0")


def test_a_loss_that_makes_it_alone_is_named():
    model = network()
    found = first_non_finite(model, lambda: (model(torch.ones(1, 4)) * 0).sum().log())
    assert found.place == "loss"


def test_a_gradient_that_becomes_infinite_though_the_loss_is_finite_is_named():
    model = network(nn.ReLU(), Root())
    with torch.no_grad():
        model[0].weight.fill_(-1)
        model[0].bias.zero_()
    found = ran(model)
    assert (found.place, found.name, found.kind) == ("backward", "3", "Root")


def test_gradients_and_hooks_are_left_as_they_were():
    model = network()
    model(torch.ones(1, 4)).sum().backward()
    before = [parameter.grad.clone() for parameter in model.parameters()]
    ran(model)
    assert all(torch.equal(one.grad, other) for one, other in zip(model.parameters(), before, strict=True))
    assert all(not module._forward_hooks and not module._backward_hooks for module in model.modules())


@pytest.mark.quick("dtype0")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_sub_layer_that_overflows_is_found_in_a_translator(dtype):
    config = EncoderDecoderModel(dim=32, heads=2, layers=2, feed_forward=48, dropout=0.0)
    model = EncoderDecoder(config, num_ids=90, max_positions=32, seed=1)
    pack = pack_of([[5, 6, 3], [7, 3]], [[8, 3], [9, 10, 3]])

    def run():
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            return model(pack).float().square().mean()

    assert first_non_finite(model, run) is None
    with torch.no_grad():
        model.decoder.blocks[1].feed_forward.up.weight.mul_(1e30 if dtype == torch.float32 else 1e7)
        model.decoder.blocks[1].feed_forward.down.weight.mul_(1e30 if dtype == torch.float32 else 1)
    found = first_non_finite(model, run)
    assert found.place == "forward"
    assert found.name.startswith("decoder.blocks.1.feed_forward.")


def test_statistics_and_random_numbers_are_as_they_were():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 1))
    before = {name: each.clone() for name, each in model.state_dict().items()}
    torch.manual_seed(3)
    expected = torch.randn(4)
    torch.manual_seed(3)
    assert first_non_finite(model, lambda: model(torch.randn(8, 4)).square().mean()) is None
    assert torch.equal(torch.randn(4), expected)
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())
    model[1].running_mean.fill_(torch.nan)
    assert first_non_finite(model, lambda: model(torch.randn(8, 4)).square().mean()).name == "1.running_mean"

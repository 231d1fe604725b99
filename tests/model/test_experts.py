"""A mixture of experts against the sum over experts, written out token by token."""

from dataclasses import replace

import pytest
import torch

from tests.model.test_encoder_decoder import SOURCES, TARGETS, build, logits
from tests.streams import pack_of
from trimtab.config.decoder_model import DecoderModel
from trimtab.model.experts import (
    MixtureOfExperts,
    build_feed_forward,
    expert_loads,
    fill_experts,
    grouped_product,
    grouped_product_one_by_one,
)
from trimtab.model.feed_forward import FeedForward, activated
from trimtab.model.router import router_losses
from trimtab.types import IGNORE


def built(*, activation="relu", **experts):
    config = DecoderModel.model_validate(
        {"dim": 16, "heads": 2, "layers": 1, "feed_forward": 24, "activation": activation, "experts": experts}
    )
    module = build_feed_forward(config)
    assert isinstance(module, MixtureOfExperts)
    fill_experts(module, generator=torch.Generator().manual_seed(3), std=0.3, damp=1.0)
    return module


def plain(module, x):
    """Equations 1 to 3 of arXiv 1701.06538 without noise, for each token by itself."""
    rows = []
    for token in x:
        chances = (module.router.weight @ token).softmax(0)
        best = chances.topk(module.experts.active).indices.tolist()
        total = sum(chances[e] for e in best) if len(best) > 1 else 1.0
        rows.append(
            sum(
                chances[e] / total * (module.down[e] @ activated(module.up[e] @ token, module.activation))
                for e in best
            )
        )
    return torch.stack(rows)


@pytest.mark.parametrize("active", [1, 2, 4])
@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_tokens_get_the_weighted_sum_of_the_experts_they_choose(active, activation):
    module = built(activation=activation, count=4, active=active)
    x = torch.randn(30, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
    weight = torch.randn(30, 16, generator=torch.Generator().manual_seed(1))
    found, wanted = module(x), plain(module, x)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)
    inputs = x, *module.parameters()
    gradients = [torch.autograd.grad((each * weight).sum(), inputs) for each in (found, wanted)]
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-3)


def test_no_token_is_dropped_where_all_choose_the_same_experts():
    module = built(count=8, active=2)
    module.router.weight.data.zero_()[2:4] = 1.0
    x = torch.rand(50, 16) + 0.5
    torch.testing.assert_close(module(x), plain(module, x), atol=1e-5, rtol=1e-4)
    module.eval()(x)
    assert module.load.tolist() == pytest.approx([0, 0, 0.5, 0.5, 0, 0, 0, 0])
    assert expert_loads(torch.nn.Sequential(module)) == {"0": pytest.approx(4.0)}


def test_grouped_products_are_those_of_one_expert_after_another():
    generator = torch.Generator().manual_seed(0)
    x, weights = torch.randn(11, 16, generator=generator), torch.randn(4, 24, 16, generator=generator)
    ends = torch.tensor([3, 3, 10, 11], dtype=torch.int32)
    torch.testing.assert_close(
        grouped_product(x, weights, ends), grouped_product_one_by_one(x, weights, ends)
    )
    with torch.autocast("cpu", torch.bfloat16):
        half = grouped_product(x, weights, ends)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(
        half.float(), grouped_product_one_by_one(x, weights, ends), atol=0.2, rtol=0.05
    )


def test_the_loss_of_balance_is_one_where_experts_are_used_alike_and_grows_where_they_are_not():
    module = built(count=4, active=1, load_balancing_loss=1.0, router_z_loss=0.0)
    module.router.weight.data = torch.eye(4, 16) * 50
    module(torch.eye(16)[:4].repeat(5, 1))
    assert module.auxiliary.item() == pytest.approx(1.0)
    module(torch.eye(16)[:1].repeat(20, 1))
    assert module.auxiliary.item() == pytest.approx(4.0)


def test_the_loss_of_the_divisor_is_its_mean_squared_logarithm():
    module = built(count=4, active=1, load_balancing_loss=0.0, router_z_loss=0.5)
    x = torch.randn(9, 16)
    module(x)
    scores = x @ module.router.weight.T
    torch.testing.assert_close(module.auxiliary, 0.5 * scores.exp().sum(1).log().square().mean())


def test_tokens_that_fill_a_pack_up_change_no_router_loss_and_no_load():
    model, pack = build(experts={"count": 4}), pack_of(SOURCES, TARGETS)
    rows = [*SOURCES, [70, 71, 72, 73, 74, 75, 76, 3]], [*TARGETS, [80, 81, 82, 83, 84, 85, 3]]
    filled = pack_of(*rows)
    labels = filled.labels.clone()
    labels[-7:] = IGNORE
    filled = replace(filled, labels=labels, num_segments=3)
    losses, loads = [], []
    for each in (pack, filled):
        model.train()(each)
        losses.append(router_losses(model))
        model.eval()(each)
        loads.append(expert_loads(model))
    torch.testing.assert_close(*losses)
    assert loads[0] == pytest.approx(loads[1])
    model.train()(pack_of(*rows))
    assert abs(float(router_losses(model) - losses[0])) > 1e-5
    blank = model.train()(pack.blank())
    assert torch.isfinite(blank).all()
    assert router_losses(model).item() == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("recompute", ["feed_forward", "block"])
def test_layers_that_are_computed_again_have_the_same_gradients(recompute):
    gradients = []
    for kind in ("none", recompute):
        model = build(experts={"count": 4}).train()
        model.recompute_in_backward(kind)
        (model(pack_of(SOURCES, TARGETS)).square().sum() + router_losses(model)).backward()
        gradients.append([each.grad for each in model.parameters()])
    torch.testing.assert_close(*gradients)


def test_an_expert_that_is_a_copy_of_the_block_makes_the_same_model():
    plain_model, mixed = build(bias=False).eval(), build(bias=False, experts={"count": 2, "active": 2}).eval()
    mixed.load_state_dict(plain_model.state_dict(), strict=False)
    for one, other in zip(plain_model.blocks, mixed.blocks, strict=True):
        assert isinstance(one.feed_forward, FeedForward)
        other.feed_forward.up.data = one.feed_forward.up.weight.expand(2, -1, -1).clone()
        other.feed_forward.down.data = one.feed_forward.down.weight.expand(2, -1, -1).clone()
    torch.testing.assert_close(logits(mixed, SOURCES, TARGETS), logits(plain_model, SOURCES, TARGETS))
    assert {mixed.role_of(name) for name, _ in mixed.named_parameters() if ".feed_forward." in name} == {
        "hidden"
    }

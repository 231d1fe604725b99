"""Learning rates by role: each optimizer against itself with one rate, and AdamW against PyTorch's with groups."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from trimtab.config.optimizers import SGD, Adafactor, AdamW, LearningRateMultipliers, Lion, StableAdamW
from trimtab.config.step import Ema
from trimtab.errors import InputError
from trimtab.step.multipliers import layers_above, multiplied, multipliers_of, names_by_multiplier
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.optimizer.rounded_adamw import RoundedAdamW
from trimtab.tasks.detection.model import HEADS

NEVER, ALWAYS = torch.tensor(False), torch.tensor(True)
KINDS = [AdamW, StableAdamW, Adafactor, Lion, SGD]
ALL = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
ROLES = {"0.weight": "embedding", "1.weight": "hidden", "1.bias": "vector", "2.weight": "output"}
SOME = {"embedding": 2.0, "hidden": 0.3, "output": 0.7, "vector": 5.0}


def role_of(name):
    return ROLES[name]


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(7, 5), nn.Linear(5, 5), nn.Linear(5, 7, bias=False))


def set_gradients(net, seed):
    generator = torch.Generator().manual_seed(seed)
    for parameter in net.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)


def trained(kind, *, multipliers=None, rate=0.01, on_device=False, made=build_optimizer, **wrapping):
    """The weights by name after some updates, one of them skipped."""
    net = model()
    config = kind(weight_decay=0.1)
    if multipliers is not None:
        chosen = LearningRateMultipliers(**multipliers)
        config = config.model_copy(update={"learning_rate_multipliers": chosen})
    optimizer = made(config, net, role_of=role_of, **wrapping)
    for step in range(4):
        set_gradients(net, step)
        now = rate / (step + 1)
        now = torch.tensor(now, dtype=torch.float64) if on_device else now
        optimizer.update(learning_rate=now, skip=ALWAYS if step == 1 else NEVER)
    return {name: parameter.detach() for name, parameter in net.named_parameters()}


def same(first, second):
    return [name for name in first if not torch.equal(first[name], second[name])] == []


@pytest.mark.quick("number-AdamW", "number-SGD", "tensor-SGD")
@ALL
@pytest.mark.parametrize("on_device", [False, True], ids=["number", "tensor"])
def test_each_weight_moves_as_if_its_rate_were_that_of_all(kind, on_device):
    found = trained(kind, multipliers=SOME, on_device=on_device)
    for name, role in ROLES.items():
        alone = trained(kind, rate=0.01 * SOME[role], on_device=on_device)
        torch.testing.assert_close(found[name], alone[name], rtol=1e-6, atol=1e-8)
        assert not torch.equal(found[name], trained(kind, on_device=on_device)[name])


@pytest.mark.quick("AdamW", "Adafactor")
@ALL
@settings(max_examples=10, deadline=None)
@given(st.integers(-6, 6))
def test_a_multiplier_that_all_have_is_another_rate_bit_for_bit(kind, power):
    multipliers = dict.fromkeys(SOME, 2.0**power)
    assert same(trained(kind, multipliers=multipliers), trained(kind, rate=0.01 * 2.0**power))


@ALL
@pytest.mark.parametrize(
    "wrapping", [{}, {"weight_clip": 1.0, "ema": Ema(decay=0.9)}], ids=["bare", "wrapped"]
)
def test_multipliers_of_one_are_none_bit_for_bit(kind, wrapping):
    ones = trained(kind, multipliers=dict.fromkeys(SOME, 1), **wrapping)
    assert same(ones, trained(kind, **wrapping))


def test_adamw_equals_pytorchs_with_a_rate_and_a_decay_by_group():
    theirs = model()
    named = dict(theirs.named_parameters())
    decay = {"1.weight": 0.1, "2.weight": 0.1}
    groups = [
        {"params": [weight], "weight_decay": decay.get(name, 0.0), "times": SOME[ROLES[name]]}
        for name, weight in named.items()
    ]
    plain = torch.optim.AdamW(groups, betas=AdamW().betas, eps=AdamW().eps, foreach=False, fused=False)
    for step in (0, 2, 3):
        set_gradients(theirs, step)
        for group in plain.param_groups:
            group["lr"] = 0.01 / (step + 1) * group["times"]
        plain.step()
    for made in (build_optimizer, RoundedAdamW):
        found = trained(AdamW, multipliers=SOME, made=made)
        for name, weight in named.items():
            torch.testing.assert_close(found[name], weight.detach())


@ALL
def test_what_decay_takes_off_is_multiplied_too(kind):
    net = model()
    before = {name: each.detach().clone() for name, each in net.named_parameters()}
    config = kind(weight_decay=0.5, learning_rate_multipliers={"hidden": 0.25})
    optimizer = build_optimizer(config, net, role_of=role_of)
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.update(learning_rate=0.1, skip=NEVER)
    left = {"1.weight": 1 - 0.1 * 0.25 * 0.5, "2.weight": 1 - 0.1 * 0.5}
    for name, parameter in net.named_parameters():
        torch.testing.assert_close(parameter.detach(), before[name] * left.get(name, 1.0))


def test_weights_in_bfloat16_move_by_their_own_rates_on_average():
    def moved(multipliers):
        net = nn.Sequential(nn.Embedding(100, 100), nn.Linear(100, 100, bias=False)).to(torch.bfloat16)
        for each in net.parameters():
            nn.init.ones_(each)
        config = AdamW(learning_rate_multipliers=multipliers)
        optimizer = build_optimizer(config, net, role_of=role_of)
        assert isinstance(optimizer, RoundedAdamW)
        torch.manual_seed(1)
        for _ in range(20):
            for each in net.parameters():
                each.grad = torch.ones_like(each)
            optimizer.update(learning_rate=1e-4, skip=NEVER)
        return net, [1 - float(each.detach().double().mean()) for each in net.parameters()]

    assert moved({"hidden": 0.25})[1] == pytest.approx([2e-3, 5e-4], rel=0.1)
    first, second = moved({})[0], moved(dict.fromkeys(SOME, 1.0))[0]
    assert same(dict(first.named_parameters()), dict(second.named_parameters()))


@ALL
def test_state_is_that_of_an_optimizer_without_multipliers_and_goes_on_from_it(kind):
    def optimizer(net, multipliers):
        return build_optimizer(kind(learning_rate_multipliers=multipliers), net, role_of=role_of)

    net, other = model(), model()
    before = optimizer(net, {})
    set_gradients(net, 0)
    before.update(learning_rate=0.01, skip=NEVER)
    saved = {name: each.clone() for name, each in before.state_tensors().items()}
    after = optimizer(other, SOME)
    after.load_state_tensors(saved)
    assert same(after.state_tensors(), saved)
    assert saved.keys() == after.state_tensors().keys()
    assert [each.shape for each in before.parameters] == [each.shape for each in after.parameters]


@ALL
def test_multipliers_without_roles_are_refused(kind):
    net = model()
    with pytest.raises(InputError, match="roles of the parameters are unknown"):
        build_optimizer(kind(learning_rate_multipliers={"hidden": 0.5}), net)
    build_optimizer(kind(learning_rate_multipliers={"hidden": 1.0}), net)


def test_multipliers_of_names_follow_their_roles_and_nobody_is_asked_where_all_are_one():
    config = LearningRateMultipliers(**SOME)
    assert multipliers_of(config, ROLES, role_of=role_of) == {n: SOME[role] for n, role in ROLES.items()}
    assert multipliers_of(LearningRateMultipliers(), ["x"], role_of=role_of) == {"x": 1.0}
    with pytest.raises(KeyError):
        multipliers_of(config, ["x"], role_of=role_of)


def test_names_of_one_multiplier_stay_in_their_order():
    found = names_by_multiplier(["a", "b", "c", "d"], {"a": 1.0, "b": 0.5, "c": 1.0, "d": 0.5})
    assert found == {1.0: ["a", "c"], 0.5: ["b", "d"]}


def test_a_rate_of_the_device_stays_there_and_is_itself_where_it_is_not_multiplied():
    rate = torch.tensor(0.3, dtype=torch.float64)
    assert multiplied(rate, 1.0) is rate
    assert torch.equal(multiplied(rate, 0.25), rate * 0.25)
    assert multiplied(0.3, 0.25) == 0.3 * 0.25


def test_second_matrices_of_adapters_and_each_layer_have_factors_of_their_own():
    """LoRA+, and rates that fall from the last layer down; what lies outside of the layers is above them, or below."""
    names = {
        "embedding.weight": ("embedding", 0.5**3),
        "decoder.blocks.0.attention.out.weight": ("hidden", 0.5**2),
        "decoder.blocks.2.attention.out.lora_b.0.weight": ("lora_b", 16.0),
        "decoder.blocks.2.attention.out.lora_a.weight": ("hidden", 1.0),
        "decoder.norm.weight": ("vector", 1.0),
        "decoder.blocks.1.feed_forward.up.weight": ("hidden", 0.5),
    }
    config = LearningRateMultipliers(lora_b=16, layer_decay=0.5)
    found = multipliers_of(config, names, role_of=lambda name: names[name][0])
    assert found == {name: wanted for name, (_, wanted) in names.items()}


def test_layers_are_counted_in_their_stack_and_what_belongs_to_the_embeddings_lies_below():
    """Names of T5, whose sub-layers have numbers too, of a translator with fewer layers in one stack, and of BERT."""
    names = {
        "shared.weight": ("embedding", 3),
        "encoder.block.0.layer.1.DenseReluDense.wi.weight": ("hidden", 2),
        "encoder.block.2.layer.0.SelfAttention.q.weight": ("hidden", 0),
        "decoder.block.0.layer.2.DenseReluDense.wo.weight": ("hidden", 1),
        "decoder.block.1.layer.1.EncDecAttention.q.weight": ("hidden", 0),
        "decoder.final_layer_norm.weight": ("vector", 0),
        "bert.embeddings.LayerNorm.bias": ("vector", 3),
        "model.encoder.layernorm_embedding.weight": ("vector", 3),
        "bert.pooler.dense.weight": ("hidden", 0),
        "embed_out.weight": ("output", 0),
    }
    roles = {name: role for name, (role, _) in names.items()}
    assert layers_above(roles) == {name: wanted for name, (_, wanted) in names.items()}


def test_heads_of_detectors_have_the_full_rate_whatever_their_weights_are_called():
    """Names of RT-DETR and YOLOS in transformers."""
    names = {
        "network.model.encoder.encoder.0.layers.0.fc1.weight": ("hidden", 0),
        "network.model.decoder.layers.0.fc1.weight": ("hidden", 5),
        "network.model.decoder.layers.5.fc1.weight": ("hidden", 0),
        "network.model.decoder.class_embed.0.weight": ("hidden", 0),
        "network.model.decoder.bbox_embed.0.layers.0.weight": ("hidden", 0),
        "network.model.decoder.bbox_embed.0.layers.2.bias": ("vector", 0),
        "network.model.denoising_class_embed.weight": ("embedding", 0),
        "network.model.enc_score_head.weight": ("hidden", 0),
        "network.model.enc_bbox_head.layers.0.weight": ("hidden", 0),
        "network.class_labels_classifier.layers.0.weight": ("hidden", 0),
        "network.bbox_predictor.layers.0.weight": ("hidden", 0),
        "network.model.level_embed": ("embedding", 6),
        "network.vit.embeddings.patch_embeddings.projection.bias": ("vector", 6),
    }
    assert all(any(head in name for name in names) for head in HEADS)
    roles = {name: role for name, (role, _) in names.items()}
    assert layers_above(roles) == {name: wanted for name, (_, wanted) in names.items()}
    assert layers_above({"blocks.0.head.weight": "hidden", "blocks.1.head.weight": "hidden"}) == {
        "blocks.0.head.weight": 1,
        "blocks.1.head.weight": 0,
    }


def test_groups_by_name_come_beside_roles_and_the_last_that_fits_counts():
    config = LearningRateMultipliers(hidden=0.5, names={"*.weight": 2.0, "1.*": 0.1})
    found = multipliers_of(config, ROLES, role_of=role_of)
    assert found == {"0.weight": 2.0, "1.weight": 0.05, "1.bias": 0.1, "2.weight": 2.0}


def test_a_group_of_no_weight_is_refused():
    with pytest.raises(InputError, match="no weight of the model has such a name") as caught:
        multipliers_of(LearningRateMultipliers(names={"encoder.*": 0.1}), ROLES, role_of=role_of)
    assert "`2*`" in str(caught.value)

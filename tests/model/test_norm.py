import pytest
import torch

from tests.model.test_decoder_only import build as build_decoder
from tests.streams import stream_of
from trimtab.model.norm import SubLayerNorm, build_norm, build_sub_layer_norm, zero_gains
from trimtab.model.sequence_layout import sequence_layout


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_a_norm_brings_vectors_to_unit_scale(kind):
    x = torch.randn(5, 64) * 30
    torch.testing.assert_close(build_norm(kind, 64)(x).square().mean(1), torch.ones(5), atol=1e-3, rtol=0)


def test_only_layer_norm_removes_the_mean():
    x = torch.randn(5, 64) + 10
    assert build_norm("layer", 64)(x).mean(1).abs().max() < 1e-4
    assert build_norm("rms", 64)(x).mean(1).min() > 0.9


def layer_written_out(block, x, layout, positions):
    """A layer with a norm around each sub-layer, or none, and a factor of what it adds: the papers' equations."""
    for norm, update in (
        (block.norm_attention, lambda x: block.attention(x, layout, positions, causal=True)),
        (block.norm_feed_forward, block.feed_forward),
    ):
        added = update(x if isinstance(norm.first, torch.nn.Identity) else norm.first(x))
        added = added if norm.last is None else norm.last(added)
        x = x + (1.0 if norm.gain is None else norm.gain) * added
    return x


@pytest.mark.parametrize(
    "changes",
    [
        {"norm_position": "sandwich", "norm": "layer"},
        {"norm_position": "sandwich", "rezero": True},
        {"norm_position": "none", "rezero": True},
        {"norm_position": "before", "rezero": True},
    ],
    ids=str,
)
def test_a_sub_layer_is_what_the_equations_say(changes):
    model = build_decoder(layers=1, **changes).double()
    block, stream = model.decoder.blocks[0], stream_of([[4, 5, 6, 3], [7, 3]])
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    x = torch.randn(6, 32, dtype=torch.float64, requires_grad=True)
    layout, positions = sequence_layout(stream, padded=True), model.target_positions.of_stream(stream)
    found, wanted = block(x, layout, positions), layer_written_out(block, x, layout, positions)
    torch.testing.assert_close(found, wanted)
    inputs = x, *block.parameters()
    torch.testing.assert_close(
        *(torch.autograd.grad(each.square().sum(), inputs) for each in (found, wanted))
    )


def test_with_rezero_a_layer_begins_as_the_identity_and_its_factors_learn_first():
    model = build_decoder(norm_position="none", rezero=True)
    block, stream = model.decoder.blocks[0], stream_of([[4, 5, 6, 3], [7, 3]])
    layout, positions = sequence_layout(stream, padded=True), model.target_positions.of_stream(stream)
    x = torch.randn(6, 32)
    found = block(x, layout, positions)
    assert torch.equal(found, x)
    found.square().sum().backward()
    moved = {name for name, parameter in block.named_parameters() if parameter.grad.any()}
    assert moved == {"norm_attention.gain", "norm_feed_forward.gain"}
    assert model.begins_zero == zero_gains(model)
    assert {model.role_of(name) for name in model.begins_zero} == {"vector"}
    assert len(model.begins_zero) == 4


def test_a_sub_layer_with_one_norm_has_it_and_no_more():
    config = build_decoder().config
    assert not isinstance(build_sub_layer_norm(config), SubLayerNorm)
    assert isinstance(build_sub_layer_norm(config.model_copy(update={"rezero": True})), SubLayerNorm)


def test_the_norm_of_what_a_sub_layer_adds_begins_smaller_in_a_deeper_model():
    two, eight = (build_decoder(norm_position="sandwich", layers=layers) for layers in (2, 8))
    last = [model.decoder.blocks[0].norm_attention.last.weight[0].item() for model in (two, eight)]
    assert last == pytest.approx([0.5, 0.25])

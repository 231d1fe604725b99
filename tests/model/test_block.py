import pytest
import torch
from torch import nn

from tests.streams import stream_of
from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.block import (
    CrossAttention,
    DecoderBlock,
    EncoderBlock,
    Residual,
    SelfAttention,
    Source,
    set_stochastic_depth,
)
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.positions.kind import PositionInputs
from trimtab.model.positions.rotary import RotaryPositions
from trimtab.model.sequence_layout import sequence_layout

DIM, HEADS, WIDTH = 16, 4, 24
SOURCES, TARGETS = (5, 1, 3), (2, 4, 3)
PLACES = ["before", "after"]
NO_POSITIONS = PositionInputs(None, None)


def config(**changes):
    settings = {"dim": DIM, "heads": HEADS, "layers": 1, "feed_forward": WIDTH, "dropout": 0.0}
    return EncoderDecoderModel(**{**settings, **changes})


def layout(lengths):
    return sequence_layout(stream_of([[1] * length for length in lengths]), padded=True)


def vectors(lengths, *, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(sum(lengths), DIM, generator=generator, dtype=torch.float64)


def shaken(block):
    """The block in float64, with weights, gains and biases all different from what they begin with."""
    generator = torch.Generator().manual_seed(0)
    for parameter in block.double().parameters():
        parameter.data.normal_(generator=generator, std=0.3)
    return block.eval()


def copied(theirs, ours, names):
    """PyTorch's layer with our weights."""
    pairs = {their: ours.get_submodule(our) for their, our in names.items()}
    with torch.no_grad():
        for their, our in pairs.items():
            theirs.get_submodule(their).weight.copy_(our.weight)
            theirs.get_submodule(their).bias.copy_(our.bias)
        theirs.self_attn.in_proj_weight.copy_(ours.attention.qkv.weight)
        theirs.self_attn.in_proj_bias.copy_(ours.attention.qkv.bias)
    return theirs.double().eval()


def pytorch_layer(kind, place, activation):
    return kind(
        DIM, HEADS, WIDTH, dropout=0.0, activation=activation, batch_first=True, norm_first=place == "before"
    ).double()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_encoder_block_is_pytorchs_encoder_layer_for_each_sentence(place, activation):
    block = shaken(EncoderBlock(config(norm_position=place, activation=activation)))
    names = {
        "self_attn.out_proj": "attention.out",
        "linear1": "feed_forward.up",
        "linear2": "feed_forward.down",
        "norm1": "norm_attention",
        "norm2": "norm_feed_forward",
    }
    theirs = copied(pytorch_layer(nn.TransformerEncoderLayer, place, activation), block, names)
    x = vectors(SOURCES, seed=1)
    got = block(x, layout(SOURCES), NO_POSITIONS).split(SOURCES)
    for ours, sentence in zip(got, x.split(SOURCES), strict=True):
        torch.testing.assert_close(ours, theirs(sentence[None])[0])


@pytest.mark.parametrize("place", PLACES)
def test_a_decoder_block_is_pytorchs_decoder_layer_for_each_sentence(place):
    block = shaken(DecoderBlock(config(norm_position=place)))
    names = {
        "self_attn.out_proj": "attention.out",
        "multihead_attn.out_proj": "cross.out",
        "linear1": "feed_forward.up",
        "linear2": "feed_forward.down",
        "norm1": "norm_attention",
        "norm2": "norm_cross",
        "norm3": "norm_feed_forward",
    }
    theirs = copied(pytorch_layer(nn.TransformerDecoderLayer, place, "relu"), block, names)
    with torch.no_grad():
        cross = theirs.multihead_attn
        cross.in_proj_weight.copy_(torch.cat([block.cross.q.weight, block.cross.kv.weight]))
        cross.in_proj_bias.copy_(torch.cat([block.cross.q.bias, block.cross.kv.bias]))
    x, memory = vectors(TARGETS, seed=2), vectors(SOURCES, seed=3)
    source = Source(memory, layout(TARGETS), layout(SOURCES))
    got = block(x, layout(TARGETS), NO_POSITIONS, source=source).split(TARGETS)
    for ours, target, read in zip(got, x.split(TARGETS), memory.split(SOURCES), strict=True):
        hidden = nn.Transformer.generate_square_subsequent_mask(len(target), dtype=torch.float64)
        torch.testing.assert_close(ours, theirs(target[None], read[None], tgt_mask=hidden)[0])


def test_the_bottom_to_top_connection_adds_the_layers_input_before_its_last_norm():
    # Takase et al., arXiv 2206.00330, equation 10; "after" is that without the last term.
    block = shaken(EncoderBlock(config(norm_position="b2t")))
    x = vectors(SOURCES, seed=1)
    middle = block.norm_attention(x + block.attention(x, layout(SOURCES), NO_POSITIONS, causal=False))
    wanted = block.norm_feed_forward(x + middle + block.feed_forward(middle))
    torch.testing.assert_close(block(x, layout(SOURCES), NO_POSITIONS), wanted)

    block = shaken(DecoderBlock(config(norm_position="b2t")))
    y, memory = vectors(TARGETS, seed=2), vectors(SOURCES, seed=3)
    source = Source(memory, layout(TARGETS), layout(SOURCES))
    middle = block.norm_attention(y + block.attention(y, layout(TARGETS), NO_POSITIONS, causal=True))
    middle = block.norm_cross(middle + block.cross(middle, *source))
    wanted = block.norm_feed_forward(y + middle + block.feed_forward(middle))
    torch.testing.assert_close(block(y, layout(TARGETS), NO_POSITIONS, source=source), wanted)


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_normed_queries_and_keys_of_a_translator_have_the_length_of_their_gains(kind):
    attention = kind(config(qk_norm=True)).double().attention
    with torch.no_grad():
        attention.qkv.weight.mul_(100)
        queries, keys, values = attention.project(vectors([9], seed=1), None)
    for normed in (queries, keys):
        ones = torch.ones(9, HEADS, dtype=torch.float64)
        torch.testing.assert_close(normed.square().mean(-1), ones, atol=1e-4, rtol=1e-4)
    assert float(values.abs().max()) > 10


def test_queries_and_keys_are_turned_and_values_are_not():
    attention = shaken(SelfAttention(config()))
    x = vectors([5], seed=4)
    rotary = RotaryPositions(num_positions=8, size=DIM // HEADS, theta=1e4).rotate(torch.arange(5))
    plain, turned = attention.project(x, None), attention.project(x, rotary)
    for ours, unturned in zip(turned[:2], plain[:2], strict=True):
        torch.testing.assert_close(ours, rotary.rotate(unturned))
        torch.testing.assert_close(ours[0], unturned[0], atol=1e-6, rtol=1e-6)
        assert not torch.allclose(ours[1:], unturned[1:])
    assert torch.equal(turned[2], plain[2])


def test_without_biases_there_are_none_in_the_maps():
    for part in (SelfAttention(config(bias=False)), CrossAttention(config(bias=False))):
        assert all(name.endswith("weight") for name, _ in part.named_parameters())


@pytest.mark.parametrize("place", PLACES)
def test_dropout_is_on_the_update_alone_and_in_training_alone(place):
    path = Residual(config(norm_position=place, dropout=0.5))
    x, update, norm = torch.full((400,), 8.0), torch.ones(400), nn.Identity()
    path.train()
    torch.manual_seed(0)
    left = path.post(x, update, norm)
    assert set(left.tolist()) == {8.0, 10.0}, "each update is dropped, or doubled to keep the mean"
    assert 120 < int((left == 8.0).sum()) < 280
    path.eval()
    assert torch.equal(path.post(x, update, norm), x + update)


def test_the_norm_stands_before_the_sublayer_or_after_the_sum():
    x, update, norm = torch.randn(3, DIM), torch.randn(3, DIM), nn.LayerNorm(DIM)
    before, after = (Residual(config(norm_position=place)).eval() for place in PLACES)
    assert torch.equal(before.pre(x, norm), norm(x))
    assert torch.equal(before.post(x, update, norm), x + update)
    assert torch.equal(after.pre(x, norm), x)
    assert torch.equal(after.post(x, update, norm), norm(x + update))


@pytest.mark.parametrize("kept", [1, 2])
def test_grouped_heads_equal_all_heads_with_keys_and_values_repeated(kept):
    grouped = shaken(DecoderBlock(config(kv_heads=kept)))
    whole = shaken(DecoderBlock(config()))
    whole.load_state_dict(repeated(grouped.state_dict(), kept))
    x, memory = vectors(TARGETS, seed=2), vectors(SOURCES, seed=3)
    source = Source(memory, layout(TARGETS), layout(SOURCES))
    ours, theirs = (each(x, source.target, NO_POSITIONS, source=source) for each in (grouped, whole))
    torch.testing.assert_close(ours, theirs)


def repeated(state, kept):
    """The weights of a block in which each head has keys and values of its own, copies of its group's."""
    size = DIM // HEADS
    for name, own in (("attention.qkv", HEADS), ("cross.kv", 0)):
        for kind in ("weight", "bias"):
            rows = state[f"{name}.{kind}"].unflatten(0, (-1, size))
            queries, keys, values = rows.split([own, kept, kept])
            wide = [part.repeat_interleave(HEADS // kept, dim=0) for part in (keys, values)]
            state[f"{name}.{kind}"] = torch.cat([queries, *wide]).flatten(0, 1)
    return state


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_bias_means_the_maps_and_leaves_the_norms_as_they_are(norm):
    for kind in (EncoderBlock, DecoderBlock):
        with_biases, without = (
            kind(config(norm=norm, bias=bias, activation="geglu")) for bias in (True, False)
        )
        biases = [name for name, _ in without.named_parameters() if name.endswith("bias")]
        assert all(name.startswith("norm_") for name in biases)
        assert bool(biases) == (norm == "layer")
        gone = {name for name, _ in with_biases.named_parameters()} - {
            n for n, _ in without.named_parameters()
        }
        maps = {n for n, part in without.named_modules() if isinstance(part, nn.Linear)}
        assert gone == {f"{name}.bias" for name in maps}


def deep(**changes):
    sizes = {"dim": 16, "heads": 2, "layers": 4, "feed_forward": 24, "positions": "none"}
    model = DecoderOnly(DecoderModel(**{**sizes, **changes}), num_ids=40, max_positions=16, seed=1)
    set_stochastic_depth([*model.decoder.blocks], most=0.8)
    return model, stream_of([[5, 6, 7], [8, 9]])


def test_deeper_sub_layers_are_skipped_more_often_and_in_training_alone():
    model, stream = deep()
    assert [block.residual.skip_chance for block in model.decoder.blocks] == pytest.approx(
        [0.2, 0.4, 0.6, 0.8]
    )
    plain, _ = deep()
    set_stochastic_depth([*plain.decoder.blocks], most=0.0)
    assert torch.equal(model.eval().decode(stream), plain.eval().decode(stream))
    assert torch.equal(plain.train().decode(stream), plain.eval().decode(stream))


def test_a_sub_layer_is_skipped_as_a_whole_or_scaled_so_that_its_mean_stays():
    residual = Residual(config(dropout=0.0)).train()
    residual.skip_chance = 0.25
    torch.manual_seed(0)
    x, update = torch.zeros(3, 16), torch.ones(3, 16)
    found = [residual.post(x, update, torch.nn.Identity()) for _ in range(2000)]
    values = {round(float(value), 4) for each in found for value in each.unique()}
    assert values == {0.0, round(1 / 0.75, 4)}
    assert float(torch.stack(found).mean()) == pytest.approx(1.0, abs=0.05)


def test_a_layer_that_is_computed_again_skips_the_same_sub_layers():
    """The slow twin keeps all activations."""
    gradients = []
    for recompute in ("none", "block"):
        model, stream = deep()
        model.recompute_in_backward(recompute)
        torch.manual_seed(5)
        model.train().decode(stream).square().sum().backward()
        gradients.append([each.grad for each in model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))

import pytest
import torch

from tests.model.test_decoder_only import config
from tests.streams import stream_of
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.block import DecoderBlock, EncoderBlock
from trimtab.model.positions.kind import PositionInputs
from trimtab.model.positions.rotary import RotaryPositions
from trimtab.model.sequence_layout import sequence_layout

LENGTHS = (5, 1, 3)
PLACES = torch.cat([torch.arange(n) for n in LENGTHS])
ROTARY = RotaryPositions(num_positions=8, size=16, theta=1e4).rotate(PLACES)
POSITIONS = PositionInputs(ROTARY, None)


def layout(lengths=LENGTHS):
    return sequence_layout(stream_of([[1] * length for length in lengths]), padded=True)


@pytest.mark.parametrize("place", ["before", "after"])
def test_the_last_token_takes_what_an_encoder_block_would_give_it(place):
    settings = config(norm_position=place, norm="layer", bias=True)
    block = DecoderBlock(settings, own=settings)
    sizes = {"dim": 32, "heads": 2, "layers": 1, "feed_forward": 48, "dropout": 0.0}
    both_ways = EncoderBlock(EncoderDecoderModel(**sizes, norm_position=place, activation="swiglu"))
    both_ways.load_state_dict(block.state_dict())
    x = torch.randn(9, 32)
    ours, theirs = block(x, layout(), POSITIONS), both_ways(x, layout(), POSITIONS)
    last = torch.tensor([4, 5, 8])
    torch.testing.assert_close(ours[last], theirs[last])
    assert not torch.allclose(ours[0], theirs[0])


def test_attention_may_be_another_function():
    block = DecoderBlock(config(), own=config()).eval()
    x = torch.randn(9, 32)
    seen = []

    def nothing(queries, keys, values):
        seen.extend((queries, keys, values))
        return torch.zeros_like(queries)

    alone = block.run(x, lambda entered: block.attention.attend_by(nothing, entered, ROTARY))
    torch.testing.assert_close(alone, x + block.feed_forward(block.norm_feed_forward(x)))
    parts = block.attention.project(block.norm_attention(x), ROTARY)
    assert all(torch.equal(one, other) for one, other in zip(seen, parts, strict=True))


def test_normed_queries_and_keys_cannot_grow_with_their_maps():
    attention = DecoderBlock(config(), own=config(qk_norm=True)).attention
    with torch.no_grad():
        attention.qkv.weight.mul_(100)
        queries, keys, values = attention.project(torch.randn(9, 32), ROTARY)
    for normed in (queries, keys):
        torch.testing.assert_close(normed.square().mean(-1), torch.ones(9, 2), atol=1e-4, rtol=1e-4)
    assert float(values.abs().max()) > 10

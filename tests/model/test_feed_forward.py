import torch
import torch.nn.functional as F

from tests.for_each import for_each
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.feed_forward import FeedForward


def test_swiglu_is_the_papers_equation():
    block = FeedForward(EncoderDecoderModel(preset="tiny", activation="swiglu", bias=False))
    x = torch.randn(3, 192)
    gate, up = block.up.weight.chunk(2)
    torch.testing.assert_close(block(x), (F.silu(x @ gate.T) * (x @ up.T)) @ block.down.weight.T)


def test_relu_and_gelu_differ_only_in_the_activation():
    relu = FeedForward(EncoderDecoderModel(preset="tiny", activation="relu"))
    gelu = FeedForward(EncoderDecoderModel(preset="tiny", activation="gelu"))
    gelu.load_state_dict(relu.state_dict())
    x = torch.randn(3, 192)
    torch.testing.assert_close(gelu(x), gelu.down(F.gelu(gelu.up(x))))
    torch.testing.assert_close(relu(x), relu.down(F.relu(relu.up(x))))


def test_geglu_is_the_papers_equation():
    block = FeedForward(EncoderDecoderModel(preset="tiny", activation="geglu", bias=False))
    x = torch.randn(3, 192)
    gate, up = block.up.weight.chunk(2)
    torch.testing.assert_close(block(x), (F.gelu(x @ gate.T) * (x @ up.T)) @ block.down.weight.T)


def test_silu_and_swish_are_x_times_its_sigmoid():
    silu, swish = (
        FeedForward(EncoderDecoderModel(preset="tiny", activation=name)) for name in ("silu", "swish")
    )
    swish.load_state_dict(silu.state_dict())
    x = torch.randn(3, 192)
    hidden = silu.up(x)
    torch.testing.assert_close(silu(x), silu.down(hidden * hidden.sigmoid()))
    assert torch.equal(silu(x), swish(x))


@for_each(("activation", "maps"), [("silu", 2), ("gelu", 2), ("swiglu", 3), ("geglu", 3)])
def test_a_gate_is_one_more_map(activation, maps):
    block = FeedForward(EncoderDecoderModel(preset="tiny", activation=activation, bias=False))
    assert sum(p.numel() for p in block.parameters()) == maps * 192 * 768

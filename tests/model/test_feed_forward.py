import torch
import torch.nn.functional as F

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

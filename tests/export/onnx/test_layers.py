"""Each part against the module that it is written from."""

import math

import pytest
import torch
from torch import nn

from tests.export.onnx.test_nodes import run
from trimtab.config.model import EncoderDecoderModel
from trimtab.export.onnx.layers import feed_forward, norm, turn
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.store import Store
from trimtab.model.feed_forward import FeedForward
from trimtab.model.norm import build_norm
from trimtab.model.positions.rotary import RotaryPositions

DIM = 8


def computed(folder, make, x, *, opset=17, half=False, **more):
    dtype = torch.float16 if half else torch.float32
    with Store(folder / "model.onnx.data") as store:
        nodes = Nodes(store, opset=opset, half=half)
        names = [nodes.add_input("x", dtype, [str(n) for n in range(x.ndim - 1)] + [x.shape[-1]])]
        names += [nodes.add_input(name, torch.float32, list(value.shape)) for name, value in more.items()]
        nodes.add_output("y", make(nodes, *names), dtype, [f"y{n}" for n in range(x.ndim)])
    return run(nodes, folder, x=x.to(dtype), **more)[0]


@pytest.mark.parametrize("opset", [17, 18, 21])
@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.parametrize(("half", "off"), [(False, 1e-6), (True, 5e-3)])
def test_norms(tmp_path, opset, kind, half, off):
    module, x = build_norm(kind, DIM), torch.randn(5, DIM) * 3
    with torch.no_grad():
        for each in module.parameters():
            each.add_(torch.randn(DIM))
    found = computed(tmp_path, lambda nodes, x: norm(nodes, x, module, "n"), x, opset=opset, half=half)
    torch.testing.assert_close(found.float(), module(x).detach(), rtol=off, atol=off)


def test_no_norm_is_nothing(tmp_path):
    with Store(tmp_path / "model.onnx.data") as store:
        assert norm(Nodes(store, opset=17), "x", nn.Identity(), "n") == "x"


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("opset", [17, 18])
@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "swish", "swiglu", "geglu"])
def test_feed_forward_blocks(tmp_path, activation, opset, bias):
    sizes = {"dim": DIM, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 12}
    module = FeedForward(EncoderDecoderModel(**sizes, activation=activation, bias=bias))
    x = torch.randn(6, DIM) * 2
    found = computed(tmp_path, lambda nodes, x: feed_forward(nodes, x, module, "ff"), x, opset=opset)
    torch.testing.assert_close(found, module(x).detach(), rtol=0, atol=2e-6)


def test_turned_queries(tmp_path):
    places = torch.tensor([0, 3, 11])
    x, positions = torch.randn(2, 4, 3, 6), RotaryPositions(num_positions=16, size=6, theta=1e4)
    cos, sin = positions.rotary_table()[places].chunk(2, -1)
    found = computed(tmp_path, turn, x, cos=cos.contiguous(), sin=sin.contiguous())
    rotary = positions.rotate(places)
    flat = x.transpose(1, 2)  # rows length heads size
    wanted = torch.stack([rotary.rotate(row) for row in flat]).transpose(1, 2)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6)
    torch.testing.assert_close(found[:, :, 0], x[:, :, 0]), "place 0 is turned by nothing"
    assert math.isclose(found.norm(), x.norm(), rel_tol=1e-5)

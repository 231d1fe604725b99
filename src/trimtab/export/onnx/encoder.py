"""The encoder as a graph: it gives the keys and values that the decoder's layers keep of the source."""

from typing import Any

import torch

from trimtab.export.onnx.front import hidden_unless, positions_between, read, rotary
from trimtab.export.onnx.layers import (
    Rows,
    attend,
    enter,
    feed_forward,
    keys_values,
    leave,
    norm,
    project,
)
from trimtab.export.onnx.nodes import Nodes
from trimtab.model.block import DecoderBlock, EncoderBlock
from trimtab.model.encoder_decoder import EncoderDecoder


def encoder_graph(nodes: Nodes, model: EncoderDecoder) -> Any:
    """`ids` and `real`, both `rows source`, to `source.{layer}.keys` and `.values`, `rows kv_heads source size`."""
    ids = nodes.add_input("ids", torch.int64, ["rows", "source"])
    real = nodes.add_input("real", torch.bool, ["rows", "source"])
    count, length = (nodes.op("Shape", ids, start=axis, end=axis + 1) for axis in (0, 1))
    places = positions_between(nodes, nodes.whole(0), length)
    rows = Rows(count, length, rotary(nodes, places, model=model, side="source"))
    x = read(nodes, ids, places, rows, model=model, side="source")
    bias = hidden_unless(nodes, nodes.op("Unsqueeze", real, nodes.whole(1, 2)))
    for number, block in enumerate(model.encoder.blocks):
        assert isinstance(block, EncoderBlock)
        x = encoder_layer(nodes, x, block, rows, bias=bias, name=f"encoder.{number}")
    memory = norm(nodes, x, model.encoder.norm, "encoder.norm")
    for number, block in enumerate(model.decoder.blocks):
        assert isinstance(block, DecoderBlock)
        kept = keys_values(nodes, memory, block.cross, rows, f"decoder.{number}.cross")
        shape = ["rows", block.cross.kv_heads, "source", block.cross.size]
        for part, value in zip(("keys", "values"), kept, strict=True):
            nodes.add_output(f"source.{number}.{part}", value, nodes.dtype, shape)
    return nodes.model("encoder")


def encoder_layer(nodes: Nodes, x: str, block: EncoderBlock, rows: Rows, *, bias: str, name: str) -> str:
    """The residual path after a layer; `bias` is added to the scores of attention."""
    norms = {"module": block.norm_attention, "name": f"{name}.norm_attention"}
    asked, keys, values = project(
        nodes, enter(nodes, x, block.residual, **norms), block.attention, rows, f"{name}.attention"
    )
    parts = {"bias": bias, "module": block.attention, "name": f"{name}.attention"}
    x = leave(nodes, x, attend(nodes, asked, keys, values, **parts), block.residual, **norms)
    norms = {"module": block.norm_feed_forward, "name": f"{name}.norm_feed_forward"}
    entered = enter(nodes, x, block.residual, **norms)
    update = feed_forward(nodes, entered, block.feed_forward, f"{name}.feed_forward")
    return leave(nodes, x, update, block.residual, **norms)

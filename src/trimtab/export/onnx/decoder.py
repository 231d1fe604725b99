"""The decoder as a graph: some tokens of each hypothesis after what it remembers, which is nothing at first.

One graph for the first step, for all others, and for whole translations that are scored.
"""

from typing import Any

import torch

from trimtab.export.onnx.front import ALL, WritesIds, hidden_unless, positions_between, read, rotary
from trimtab.export.onnx.layers import (
    Rows,
    attend,
    enter,
    feed_forward,
    in_heads,
    leave,
    norm,
    project,
)
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.rounded import linear, multiplied
from trimtab.model.block import DecoderBlock


def decoder_graph(nodes: Nodes, model: WritesIds) -> Any:
    """`tokens`, `rows width length`, behind `past.{layer}.keys` and `.values`, `hypotheses kv_heads past size`, to
    float32 `logits`, `rows width length vocabulary`, and `present.{layer}.*`, longer by `length`.

    `real` and `source.{layer}.*` are those of the encoder, one for all hypotheses of a row.
    """
    tokens = nodes.add_input("tokens", torch.int64, ["rows", "width", "length"])
    real = nodes.add_input("real", torch.bool, ["rows", "source"])
    layers = [_Layer(nodes, block, number) for number, block in enumerate(model.decoder.blocks)]
    count, width, length = (nodes.op("Shape", tokens, start=axis, end=axis + 1) for axis in range(3))
    before = nodes.op("Shape", layers[0].past[0], start=2, end=3)
    end = nodes.op("Add", before, length)
    places = positions_between(nodes, before, end)
    own_rotary = rotary(nodes, places, model=model, side="target")
    hypotheses = Rows(nodes.op("Mul", count, width), length, own_rotary)
    x = read(nodes, tokens, places, hypotheses, model=model, side="target")
    own = _not_yet_written(nodes, places, end, layers[0])
    source = hidden_unless(nodes, nodes.op("Unsqueeze", real, nodes.whole(1, 2)))
    for layer in layers:
        x = layer.self_attention(x, hypotheses, bias=own)
        x = layer.source_attention(x, Rows(count, nodes.whole(ALL)), bias=source)
        x = layer.feed_forward(x)
    x = norm(nodes, x, model.decoder.norm, "decoder.norm")
    name, size = "embedding" if model.output is None else "output", model.num_ids
    logits = nodes.cast(multiplied(nodes, x, model.output_matrix[:size], None, name), torch.float32)
    shape = nodes.op("Concat", count, width, length, nodes.whole(size), axis=0)
    logits = nodes.op("Reshape", logits, shape)
    nodes.add_output("logits", logits, torch.float32, ["rows", "width", "length", size])
    return nodes.model("decoder")


def _not_yet_written(nodes: Nodes, places: str, end: str, layer: "_Layer") -> str:
    """What hides from each token those after it; once for each query that shares a head of keys."""
    up_to = nodes.op("Unsqueeze", places, nodes.whole(1))
    bias = hidden_unless(nodes, nodes.op("LessOrEqual", positions_between(nodes, nodes.whole(0), end), up_to))
    shared = layer.block.attention.heads // layer.block.attention.kv_heads
    return nodes.op("Tile", bias, nodes.whole(shared, 1)) if shared > 1 else bias


class _Layer:
    """One layer, with the inputs for what it remembers, and the outputs for what it will."""

    def __init__(self, nodes: Nodes, block: Any, number: int) -> None:
        assert isinstance(block, DecoderBlock)
        self.nodes, self.block, self.number, self.name = nodes, block, number, f"decoder.{number}"
        self.source, self.past = (
            self._inputs("source", "rows", "source"),
            self._inputs("past", "hypotheses", "past"),
        )

    def self_attention(self, x: str, rows: Rows, *, bias: str) -> str:
        nodes, attention, name = self.nodes, self.block.attention, f"{self.name}.attention"
        asked, *new = project(nodes, self._enter(x, "norm_attention"), attention, rows, name)
        keys, values = (nodes.op("Concat", *pair, axis=2) for pair in zip(self.past, new, strict=True))
        for part, value in (("keys", keys), ("values", values)):
            shape = self._shape("hypotheses", "past_and_length")
            nodes.add_output(f"present.{self.number}.{part}", value, nodes.dtype, shape)
        update = attend(nodes, asked, keys, values, bias=bias, module=attention, name=name)
        return self._leave(x, update, "norm_attention")

    def source_attention(self, x: str, rows: Rows, *, bias: str) -> str:
        nodes, cross, name = self.nodes, self.block.cross, f"{self.name}.cross"
        asked = linear(nodes, self._enter(x, "norm_cross"), cross.q, f"{name}.q")
        asked = in_heads(nodes, asked, rows, heads=cross.heads, size=cross.size)
        update = attend(nodes, asked, *self.source, bias=bias, module=cross, name=name)
        return self._leave(x, update, "norm_cross")

    def feed_forward(self, x: str) -> str:
        module, name = self.block.feed_forward, f"{self.name}.feed_forward"
        update = feed_forward(self.nodes, self._enter(x, "norm_feed_forward"), module, name)
        return self._leave(x, update, "norm_feed_forward")

    def _inputs(self, kind: str, rows: str, length: str) -> tuple[str, str]:
        shape = self._shape(rows, length)
        keys, values = (
            self.nodes.add_input(f"{kind}.{self.number}.{part}", self.nodes.dtype, shape)
            for part in ("keys", "values")
        )
        return keys, values

    def _shape(self, rows: str, length: str) -> list[str | int]:
        return [rows, self.block.attention.kv_heads, length, self.block.attention.size]

    def _enter(self, x: str, which: str) -> str:
        module = getattr(self.block, which)
        return enter(self.nodes, x, self.block.residual, module=module, name=f"{self.name}.{which}")

    def _leave(self, x: str, update: str, which: str) -> str:
        module = getattr(self.block, which)
        return leave(self.nodes, x, update, self.block.residual, module=module, name=f"{self.name}.{which}")

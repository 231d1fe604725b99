"""What comes before the layers of both graphs: places of tokens, their positions, and what attention may not see."""

import math
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.export.onnx.layers import Rows
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.rounded import embedded

ALL = -1
"""What is left, as a size."""


@runtime_checkable
class WritesIds(Protocol):
    """A model whose decoder is written as a graph: a translator, or another that has a translator's decoder."""

    embedding: nn.Embedding
    output: nn.Embedding | None
    """The output matrix; None where it is that of the embeddings."""
    config: Any
    target_positions: Any
    decoder: Any
    num_ids: int

    @property
    def output_matrix(self) -> Float[Tensor, "rows dim"]:
        """What scores ids."""
        ...


@runtime_checkable
class ReadsIds(Protocol):
    """A model that reads ids on its source side too, as a translator does."""

    source_embedding: nn.Embedding | None
    """None where both sides share one."""
    source_positions: Any


def read(nodes: Nodes, ids: str, places: str, rows: Rows, *, model: WritesIds, side: str) -> str:
    """Vectors of ids with their positions, unless these are rotary; `tokens dim`."""
    source = side == "source"
    own = _translator(model).source_embedding if source else None
    table, name = (model.embedding, "embedding") if own is None else (own, "source_embedding")
    size = model.num_ids if own is None else len(own.weight)
    x = embedded(nodes, nodes.op("Reshape", ids, nodes.whole(ALL)), table.weight[:size], name)
    positions = _translator(model).source_positions if source else model.target_positions
    table = positions.table()
    if table is None:
        return x
    # Sines of both sides are one table, as learned vectors are not.
    weight = f"{side}_positions" if [*positions.parameters()] else "sines"
    found = nodes.weight(weight, lambda: table.to(nodes.dtype))
    shape = nodes.op("Concat", rows.rows, rows.length, nodes.whole(model.config.dim), axis=0)
    placed = nodes.op("Add", nodes.op("Reshape", x, shape), nodes.op("Gather", found, places))
    return nodes.op("Reshape", placed, nodes.whole(ALL, model.config.dim))


def _translator(model: WritesIds) -> ReadsIds:
    assert isinstance(model, ReadsIds), "only a translator reads ids on its source side"
    return model


def rotary(nodes: Nodes, places: str, *, model: WritesIds, side: str) -> tuple[str, str] | None:
    """Cosines and sines of places, `length half`, in float32; none where positions are not rotary."""
    name = f"{side}_turns"
    positions = _translator(model).source_positions if side == "source" else model.target_positions
    table = positions.rotary_table()
    if table is None:
        return None
    found = nodes.op("Gather", nodes.weight(name, lambda: table.float()), places)
    half = table.shape[1] // 2
    cos, sin = nodes.ops("Split", found, nodes.whole(half, half), count=2, axis=1)
    return cos, sin


def positions_between(nodes: Nodes, first: str, end: str) -> str:
    """Whole numbers from the first to before the end, both lists of one."""
    one, other = (nodes.op("Squeeze", each, nodes.whole(0)) for each in (first, end))
    return nodes.op("Range", one, other, nodes.scalar(1, torch.int64))


def hidden_unless(nodes: Nodes, seen: str) -> str:
    """0 where something may be seen, minus infinity elsewhere."""
    return nodes.op("Where", seen, nodes.scalar(0.0), nodes.scalar(-math.inf))

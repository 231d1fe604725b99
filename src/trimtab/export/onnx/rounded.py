"""Linear maps and tables of embeddings, with weights as they are or rounded to 8 bits.

Weights of 8 bits are those of dynamic quantisation in ONNX Runtime: each output channel has a scale of its own, and the
numbers that come in are rounded when they are there, by one scale for all tokens of a call (`DynamicQuantizeLinear`).
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn

from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.store import Store


class Rounded(NamedTuple):
    """Rows of whole numbers and what to multiply each with."""

    whole: Int8[Tensor, "rows columns"]
    scale: Float[Tensor, "rows"]


class Rounding(Nodes):
    """A graph whose weights are rounded to whole numbers from -`most` to `most`; see `export.byte_products`."""

    def __init__(self, store: Store, *, opset: int, most: int) -> None:
        super().__init__(store, opset=opset)
        self.most = most


def rounded_rows(weight: Float[Tensor, "rows columns"], *, most: int) -> Rounded:
    """Each row divided by a scale of its own, so that its largest number becomes `most`, and rounded."""
    weight = weight.detach().float().cpu()
    scale = weight.abs().amax(1).clamp(min=torch.finfo(torch.float32).tiny) / most
    return Rounded((weight / scale[:, None]).round().to(torch.int8), scale)


def linear(nodes: Nodes, x: str, module: nn.Linear, name: str) -> str:
    """`tokens inputs` to `tokens outputs`."""
    bias = module.bias
    added = None if bias is None else nodes.weight(f"{name}.bias", lambda: bias.to(nodes.dtype))
    return multiplied(nodes, x, module.weight, added, f"{name}.weight")


def multiplied(
    nodes: Nodes, x: str, weight: Float[Tensor, "outputs inputs"], bias: str | None, name: str
) -> str:
    """x times the transpose of the weight, and a bias."""
    if not isinstance(nodes, Rounding):
        stored = nodes.weight(name, lambda: weight.to(nodes.dtype))
        return nodes.op("Gemm", x, stored, *([] if bias is None else [bias]), transB=1)
    whole, scale = _stored(nodes, weight, name)
    taken, taken_scale, zero = nodes.ops("DynamicQuantizeLinear", x, count=3)
    product = nodes.cast(nodes.op("MatMulInteger", taken, whole, zero), torch.float32)
    product = nodes.op("Mul", product, nodes.op("Mul", taken_scale, scale))
    return product if bias is None else nodes.op("Add", product, bias)


def embedded(nodes: Nodes, ids: str, weight: Float[Tensor, "ids dim"], name: str) -> str:
    """The row of each of a list of ids, times the root of the width; `tokens dim`."""
    factor = nodes.scalar(math.sqrt(weight.shape[1]))
    if not isinstance(nodes, Rounding):
        return nodes.op(
            "Mul", nodes.op("Gather", nodes.weight(name, lambda: weight.to(nodes.dtype)), ids), factor
        )
    # The very tensor that a tied output multiplies with, which stands there column by column.
    whole, scale = _stored(nodes, weight, name)
    rows = nodes.cast(
        nodes.op("Transpose", nodes.op("Gather", whole, ids, axis=1), perm=[1, 0]), torch.float32
    )
    scales = nodes.op("Unsqueeze", nodes.op("Gather", scale, ids), nodes.whole(1))
    return nodes.op("Mul", nodes.op("Mul", rows, scales), factor)


def _stored(nodes: Rounding, weight: Tensor, name: str) -> tuple[str, str]:
    """The names of whole numbers, `inputs outputs`, and scales."""
    made: list[Rounded] = []

    def both() -> Rounded:
        if not made:
            made.append(rounded_rows(weight, most=nodes.most))
        return made[0]

    return nodes.weight(f"{name}.whole", lambda: both().whole.T), nodes.weight(
        f"{name}.scale", lambda: both().scale
    )

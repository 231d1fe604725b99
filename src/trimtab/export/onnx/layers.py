"""The parts of a layer as nodes of ONNX, in the arithmetic of `model.block`, `model.norm` and `model.feed_forward`.

Between the parts every token is a row of one matrix; only attention looks at rows of tokens.
"""

import math
from typing import NamedTuple

import torch
from torch import nn

from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.rounded import linear
from trimtab.model.block import CrossAttention, Residual, SelfAttention
from trimtab.model.feed_forward import FeedForward

SIZE = -1
"""The last axis, of what belongs to one token."""


class Rows(NamedTuple):
    """How rows of tokens are laid out in the matrix of all of them."""

    rows: str
    length: str
    """Each one number in a list, or -1 for what is left."""
    rotary: tuple[str, str] | None = None
    """Cosines and sines for each place of a row, where positions are rotary."""


def norm(nodes: Nodes, x: str, module: nn.Module, name: str) -> str:
    """LayerNorm, RMSNorm, or nothing."""
    match module:
        case nn.Identity():
            return x
        case nn.LayerNorm():
            gain, bias = (
                nodes.weight(f"{name}.{part}", lambda part=part: getattr(module, part).to(nodes.dtype))
                for part in ("weight", "bias")
            )
            return nodes.op("LayerNormalization", x, gain, bias, axis=SIZE, epsilon=module.eps)
        case nn.RMSNorm():
            assert module.eps is not None
            # In float32, whatever the rest computes with, as torch does.
            wide = x if nodes.dtype == torch.float32 else nodes.cast(x, torch.float32)
            squares = nodes.op("Mul", wide, wide)
            if nodes.opset < 18:
                mean = nodes.op("ReduceMean", squares, axes=[SIZE], keepdims=1)
            else:
                mean = nodes.op("ReduceMean", squares, nodes.whole(SIZE), keepdims=1)
            above = nodes.op("Add", mean, nodes.scalar(module.eps, torch.float32))
            scaled = nodes.op("Div", wide, nodes.op("Sqrt", above))
            scaled = scaled if nodes.dtype == torch.float32 else nodes.cast(scaled, nodes.dtype)
            return nodes.op(
                "Mul", scaled, nodes.weight(f"{name}.weight", lambda: module.weight.to(nodes.dtype))
            )
    raise AssertionError(f"{name}: {type(module).__name__} is refused before anything is written")


def feed_forward(nodes: Nodes, x: str, module: FeedForward, name: str) -> str:
    """Two linear maps with an activation, or a gated one."""
    hidden = linear(nodes, x, module.up, f"{name}.up")
    match module.activation:
        case "relu":
            hidden = nodes.op("Relu", hidden)
        case "leaky_relu":
            hidden = nodes.op("LeakyRelu", hidden, alpha=0.01)  # the slope of torch's leaky_relu
        case "gelu":
            hidden = gelu(nodes, hidden)
        case "silu" | "swish":
            hidden = nodes.op("Mul", hidden, nodes.op("Sigmoid", hidden))
        case "swiglu":
            gate, hidden = halves(nodes, hidden)
            hidden = nodes.op("Mul", nodes.op("Mul", gate, nodes.op("Sigmoid", gate)), hidden)
        case "geglu":
            gate, hidden = halves(nodes, hidden)
            hidden = nodes.op("Mul", gelu(nodes, gate), hidden)
        case other:
            raise AssertionError(f"{name}: {other} is refused before anything is written")
    return linear(nodes, hidden, module.down, f"{name}.down")


def gelu(nodes: Nodes, x: str) -> str:
    """x Φ(x), exactly: arXiv 1606.08415."""
    inner = nodes.op("Erf", nodes.op("Div", x, nodes.scalar(math.sqrt(2))))
    return nodes.op("Mul", nodes.op("Mul", x, nodes.op("Add", inner, nodes.scalar(1.0))), nodes.scalar(0.5))


def halves(nodes: Nodes, x: str) -> tuple[str, str]:
    """The two halves of what belongs to each token."""
    attributes = {} if nodes.opset < 18 else {"num_outputs": 2}
    first, second = nodes.ops("Split", x, count=2, axis=SIZE, **attributes)
    return first, second


def project(nodes: Nodes, x: str, module: SelfAttention, rows: Rows, name: str) -> tuple[str, str, str]:
    """Queries, keys and values of self-attention, each `rows heads length size`, turned where positions are rotary."""
    widths = [each * module.size for each in (module.heads, module.kv_heads, module.kv_heads)]
    fused = linear(nodes, x, module.qkv, f"{name}.qkv")
    parts = nodes.ops("Split", fused, nodes.whole(*widths), count=3, axis=SIZE)
    counts = (module.heads, module.kv_heads, module.kv_heads)
    queries, keys, values = (
        in_heads(nodes, part, rows, heads=heads, size=module.size)
        for part, heads in zip(parts, counts, strict=True)
    )
    if rows.rotary is not None:
        queries, keys = (turn(nodes, each, *rows.rotary) for each in (queries, keys))
    return queries, keys, values


def keys_values(nodes: Nodes, memory: str, module: CrossAttention, rows: Rows, name: str) -> tuple[str, str]:
    """Keys and values of the encoder's output, each `rows kv_heads length size`."""
    keys, values = halves(nodes, linear(nodes, memory, module.kv, f"{name}.kv"))
    shape = {"heads": module.kv_heads, "size": module.size}
    return in_heads(nodes, keys, rows, **shape), in_heads(nodes, values, rows, **shape)


def in_heads(nodes: Nodes, x: str, rows: Rows, *, heads: int, size: int) -> str:
    """`tokens (heads size)` as `rows heads length size`."""
    shape = nodes.op("Concat", rows.rows, rows.length, nodes.whole(heads, size), axis=0)
    return nodes.op("Transpose", nodes.op("Reshape", x, shape), perm=[0, 2, 1, 3])


def turn(nodes: Nodes, x: str, cos: str, sin: str) -> str:
    """Each pair (i, i + size/2) turned by the angle of its place, in float32: see `model.positions`."""
    wide = x if nodes.dtype == torch.float32 else nodes.cast(x, torch.float32)
    first, second = halves(nodes, wide)
    one = nodes.op("Sub", nodes.op("Mul", first, cos), nodes.op("Mul", second, sin))
    other = nodes.op("Add", nodes.op("Mul", second, cos), nodes.op("Mul", first, sin))
    turned = nodes.op("Concat", one, other, axis=SIZE)
    return turned if nodes.dtype == torch.float32 else nodes.cast(turned, nodes.dtype)


def attend(
    nodes: Nodes,
    queries: str,
    keys: str,
    values: str,
    *,
    bias: str,
    module: SelfAttention | CrossAttention,
    name: str,
) -> str:
    """What each token took, a row of the matrix each; `bias` is added to the scores, minus infinity hides.

    Heads of queries that share one of keys are asked as further queries of it, so that no cache is ever repeated.
    """
    shared = module.heads // module.kv_heads
    asked = nodes.op("Mul", queries, nodes.scalar(1 / math.sqrt(module.size)))
    if shared > 1:
        asked = nodes.op("Reshape", asked, nodes.whole(0, module.kv_heads, -1, module.size))
    scores = nodes.op("MatMul", asked, nodes.op("Transpose", keys, perm=[0, 1, 3, 2]))
    weights = nodes.op("Softmax", nodes.op("Add", scores, bias), axis=SIZE)
    mixed = nodes.op("MatMul", weights, values)
    if shared > 1:
        mixed = nodes.op("Reshape", mixed, nodes.whole(0, module.heads, -1, module.size))
    flat = nodes.op(
        "Reshape",
        nodes.op("Transpose", mixed, perm=[0, 2, 1, 3]),
        nodes.whole(-1, module.heads * module.size),
    )
    return linear(nodes, flat, module.out, f"{name}.out")


def enter(nodes: Nodes, x: str, path: Residual, *, module: nn.Module, name: str) -> str:
    """What a sub-layer sees."""
    return norm(nodes, x, module, name) if path.norm_first else x


def leave(nodes: Nodes, x: str, update: str, path: Residual, *, module: nn.Module, name: str) -> str:
    """The residual path after a sub-layer."""
    x = nodes.op("Add", x, update)
    return x if path.norm_first else norm(nodes, x, module, name)

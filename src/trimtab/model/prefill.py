"""Several tokens of each row through a decoder block at once, for what a translation begins with."""

from typing import NamedTuple

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from trimtab.model.block import DecoderBlock
from trimtab.model.position import Rotation


class Given(NamedTuple):
    """What the tokens may look at."""

    seen: Bool[Tensor, "rows 1 length length"]
    """Which tokens of the row each may see."""
    real: Bool[Tensor, "rows 1 1 source"]
    source: tuple[Float[Tensor, "rows kv_heads source size"], Float[Tensor, "rows kv_heads source size"]]
    """Keys and values of the source."""


def through_at_once(
    block: DecoderBlock, x: Float[Tensor, "tokens dim"], rotation: Rotation | None, given: Given
) -> tuple[
    Float[Tensor, "tokens dim"],
    Float[Tensor, "rows kv_heads length size"],
    Float[Tensor, "rows kv_heads length size"],
]:
    """The residual path after the block, and the keys and values to remember; rows of `x` one after another."""
    path, rows = block.path, len(given.seen)
    parts = block.attention.project(path.enter(x, block.norm_attention), rotation)
    queries, keys, values = (each.unflatten(0, (rows, -1)).transpose(1, 2) for each in parts)
    update = _mixed(queries, keys, values, given.seen)
    x = path.leave(x, block.attention.out(update), block.norm_attention)
    entered = block.cross.q(path.enter(x, block.norm_cross))
    asked = entered.view(rows, -1, block.cross.heads, block.cross.size).transpose(1, 2)
    update = _mixed(asked, *given.source, given.real)
    x = path.leave(x, block.cross.out(update), block.norm_cross)
    update = block.feed_forward(path.enter(x, block.norm_feed_forward))
    return path.leave(x, update, block.norm_feed_forward), keys, values


def _mixed(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Float[Tensor, "tokens dim"]:
    shared = queries.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(shared, 1), values.repeat_interleave(shared, 1)
    mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=seen)
    return mixed.transpose(1, 2).flatten(2).flatten(0, 1)

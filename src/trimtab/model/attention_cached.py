"""Steps of a token at a time while a cache grows: attention by the kernels of PyTorch that need no plan for each
length, and the logits."""

from contextlib import ContextDecorator
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from trimtab.model.positions.kind import Positions
from trimtab.model.transformer import Transformer
from trimtab.types import Stream

UNPLANNED = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""All but cuDNN's. PyTorch prefers it on newer GPUs, and it makes a plan for each number of keys that comes for the
first time: the first translation of 1,813 lines took 17.6 s, the same again 1.7 s (seen once; H200, torch 2.11)."""


def at_any_length() -> ContextDecorator:
    """For a method in whose calls attention runs without plans."""
    return cast("ContextDecorator", sdpa_kernel(UNPLANNED))


def stream_at(ids: Int[Tensor, "tokens"], positions: Int[Tensor, "tokens"]) -> Stream:
    """Tokens and their positions; what embeddings read of a stream."""
    return Stream(ids, positions, positions, positions.to(torch.int32), 1)


def next_logits(
    model: Transformer, x: Float[Tensor, "tokens dim"], short_output: Float[Tensor, "short dim"] | None
) -> Float[Tensor, "tokens vocabulary"]:
    """The float32 logits after the last block; of the rows of the output layer that are left where it was cut."""
    hidden = model.decoder.norm(x)
    if short_output is not None:
        return F.linear(hidden, short_output).float()
    return F.linear(hidden, model.output_matrix)[:, : model.num_ids].float()


def next_bias(
    positions: Positions, past: int, *, own: Int[Tensor, "hypotheses"], kv_heads: int
) -> Float[Tensor, "hypotheses kv_heads group slots"] | None:
    """What positions add to the scores of one token of each hypothesis and the `past` + 1 slots of its cache, the last
    of which is the token's; heads grouped by the keys that they share. None if positions add nothing."""
    bias = positions.bias(own[:, None], _slots(past, own))
    return None if bias is None else bias.squeeze(2).unflatten(1, (kv_heads, -1))


def next_distances(
    positions: Positions, past: int, *, own: Int[Tensor, "hypotheses"]
) -> Int[Tensor, "hypotheses 1 slots"] | None:
    """The rows of each layer's tables of distances for the same pairs; None without such tables."""
    return positions.distances(own[:, None], _slots(past, own))


def _slots(past: int, own: Int[Tensor, "hypotheses"]) -> Int[Tensor, "hypotheses slots"]:
    """The positions of a cache's slots. Those of what is no token come before position 0, and are hidden."""
    return own[:, None] - torch.arange(past, -1, -1, device=own.device)


def hidden_by(
    bias: Float[Tensor, "*rows queries keys"], seen: Tensor | None
) -> Float[Tensor, "*rows queries keys"]:
    """The bias, minus infinity where a key is not seen; every key is where `seen` is None."""
    return bias if seen is None else bias.masked_fill(~seen, -torch.inf)

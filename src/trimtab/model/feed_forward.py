"""The feed-forward sub-layer: two linear maps with an activation, or a gated one."""

from typing import assert_never

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.layer_parts import Activation
from trimtab.model.gated import swiglu
from trimtab.model.layer_settings import LayerSettings

GATED = ("swiglu", "geglu")
"""Activations with a second map, of the same width, that lets the first one through."""


class FeedForward(nn.Module):
    """`down(activation(up(x)))`, or with a gate `down(activation(gate(x)) * up(x))`.

    Sources: leaky ReLU, Maas et al. 2013; GELU, arXiv 1606.08415; SiLU, arXiv 1702.03118 (as Swish, arXiv 1710.05941);
    GEGLU and SwiGLU, arXiv 2002.05202, equation 6.
    """

    def __init__(self, config: LayerSettings) -> None:
        super().__init__()
        self.activation = config.activation
        gates = 2 if config.activation in GATED else 1
        self.up = nn.Linear(config.dim, gates * config.feed_forward, bias=config.bias is True)
        self.down = nn.Linear(config.feed_forward, config.dim, bias=config.bias is True)

    def forward(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Each vector by itself."""
        return self.down(activated(self.up(x), self.activation))


def activated(hidden: Float[Tensor, "*rows wide"], activation: Activation) -> Float[Tensor, "*rows inner"]:
    """What goes into the second map; half as wide where the first half is a gate."""
    match activation:
        case "relu":
            return F.relu(hidden)
        case "leaky_relu":
            return F.leaky_relu(hidden)
        case "gelu":
            return F.gelu(hidden)
        case "silu" | "swish":
            return F.silu(hidden)
        case "swiglu":
            return swiglu(hidden)
        case "geglu":
            gate, hidden = hidden.chunk(2, dim=-1)
            return F.gelu(gate) * hidden
        case _:
            assert_never(activation)

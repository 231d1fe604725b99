"""Normalisation of hidden vectors."""

from typing import Literal, assert_never

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.model.layer_settings import LayerSettings

RMS_EPSILON = 1e-6
"""The usual one of RMSNorm."""


def build_norm(kind: Literal["layer", "rms"], dim: int, *, epsilon: float | None = None) -> nn.Module:
    """LayerNorm (arXiv 1607.06450) or RMSNorm (arXiv 1910.07467), with a learned gain (and bias for the first).
    `epsilon` is that of a pretrained model; None for the usual one."""
    match kind:
        case "layer":
            return nn.LayerNorm(dim, eps=epsilon or 1e-5)
        case "rms":
            return nn.RMSNorm(dim, eps=epsilon or RMS_EPSILON)
        case _:
            assert_never(kind)


class SubLayerNorm(nn.Module):
    """What a sub-layer has in place of one norm: with `norm_position: sandwich` one before it and one of what it adds
    (Sandwich-LN, Ding et al. 2021, arXiv 2105.13290, section 2.4); with `none` no norm; with `rezero` a factor of what
    it adds, which begins at zero and is trained (Bachlechner et al. 2020, arXiv 2003.04887, equation 3)."""

    def __init__(self, config: LayerSettings, *, epsilon: float | None = None) -> None:
        super().__init__()

        def norm() -> nn.Module:
            return build_norm(config.norm, config.dim, epsilon=epsilon)

        self.first = nn.Identity() if config.norm_position == "none" else norm()
        self.last = norm() if config.norm_position == "sandwich" else None
        self.gain = nn.Parameter(torch.zeros(1)) if config.rezero else None

    def forward(self, x: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens dim"]:
        """What the sub-layer sees; with the norm after it, the residual path."""
        return self.first(x)

    def scale(self, update: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens dim"]:
        """What the sub-layer adds."""
        update = update if self.last is None else self.last(update)
        return update if self.gain is None else update * self.gain.to(update.dtype)


def zero_gains(model: nn.Module) -> frozenset[str]:
    """The names of the factors that begin at zero and hide the sub-layers from the first gradient."""
    return frozenset(
        f"{name}.gain"
        for name, module in model.named_modules()
        if isinstance(module, SubLayerNorm) and module.gain is not None
    )


def build_sub_layer_norm(config: LayerSettings, *, epsilon: float | None = None) -> nn.Module:
    """The one norm of a sub-layer, or what it has in place of it."""
    if config.norm_position in ("sandwich", "none") or config.rezero:
        return SubLayerNorm(config, epsilon=epsilon)
    return build_norm(config.norm, config.dim, epsilon=epsilon)

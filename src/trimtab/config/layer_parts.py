"""What the layers of all kinds of model can be made of, and which choices exclude each other."""

from typing import Literal

from trimtab.config.settings import refused

Activation = Literal["relu", "leaky_relu", "gelu", "silu", "swish", "swiglu", "geglu"]
"""Activations of a feed-forward block; the last two gate with a second map."""
NormPosition = Literal["before", "after", "b2t", "sandwich", "none"]
"""Where a layer has norms."""
SUM_WITHOUT_NORM: tuple[NormPosition, ...] = ("before", "sandwich", "none")
"""With these the residual path runs from the embeddings to the end without a norm on it, and ends in one."""


def check_norms(norm_position: NormPosition, *, rezero: bool) -> None:
    """Raises a refusal for layers that nothing keeps small at the beginning."""
    if norm_position == "none" and not rezero:
        raise refused(
            "norm_position",
            "layers without norms diverge unless each sub-layer begins at zero",
            got="none, with rezero: false",
            allowed="none with `rezero: true` (arXiv 2003.04887), or before, after, b2t, sandwich",
            fix="set `rezero: true`, or `norm_position: before`",
        )

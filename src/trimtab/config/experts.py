"""Feed-forward blocks of several experts, of which each token uses a few."""

from pydantic import Field, model_validator

from trimtab.config.settings import Settings, refused

MULTIPLE = 8
"""Grouped products in half precision need widths that are multiples of this number."""


class Experts(Settings):
    """A mixture of experts (Shazeer et al. 2017, arXiv 1701.06538): each feed-forward block becomes `count` blocks of
    the same size, without biases, and a router sends each token to the `active` ones that it scores highest. No token
    is dropped, however unevenly they are used."""

    count: int = Field(default=8, ge=2, le=1024)
    """Experts in each layer. The number of parameters grows with it, the computation per token only with `active`."""
    active: int = Field(default=2, ge=1, le=64)
    """Experts that each token uses. Their outputs are summed, weighted by the router's probabilities, normalized to sum
    to 1; the probability of a single expert is not normalized (Switch, arXiv 2101.03961, equation 2)."""
    load_balancing_loss: float = Field(default=0.01, ge=0, le=10)
    """Weight of the load-balancing loss (arXiv 2101.03961, equation 4), which encourages the router to use all experts.
    It is computed per micro-batch and is the only part of an objective that depends on how a step is split. Without it,
    a few experts receive all tokens."""
    router_z_loss: float = Field(default=0.001, ge=0, le=10)
    """Weight of the router z-loss, the squared log-sum-exp of the router's logits, which keeps them small (ST-MoE,
    arXiv 2202.08906, equation 5)."""

    @model_validator(mode="after")
    def _active_fit(self) -> "Experts":
        if self.active > self.count:
            raise refused(
                "active",
                "exceeds the number of experts",
                got=f"{self.active} of {self.count}",
                allowed=f"1 to {self.count}",
                fix="set `active: 2`, or a larger `count`",
            )
        return self


def check_experts(experts: Experts | None, *, dim: int, feed_forward: tuple[int, ...]) -> None:
    """Raises a refusal for widths that no grouped product takes."""
    if experts is None:
        return
    for key, width in (("dim", dim), *(("feed_forward", each) for each in feed_forward)):
        if width % MULTIPLE:
            raise refused(
                key,
                f"grouped products of experts need a multiple of {MULTIPLE}",
                got=str(width),
                allowed=f"a multiple of {MULTIPLE}, with `experts`",
                fix=f"set `{key}: {-(-width // MULTIPLE) * MULTIPLE}`, or remove `experts`",
            )

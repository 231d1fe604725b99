"""Layers that some tokens skip."""

from fractions import Fraction

from pydantic import Field

from trimtab.config.settings import Settings, refused


class MixtureOfDepths(Settings):
    """A mixture of depths (Raposo et al. 2024, arXiv 2404.02258): in some layers a router chooses the tokens that the
    layer computes, and the others skip it: the layer neither changes them, nor do its tokens attend to them.

    In training, each text sends its highest scores, `capacity` of its tokens, through the layer (section 3.4). That
    choice depends on tokens that come later, so evaluation and decoding send a token through where its own score is
    above 0 instead. The auxiliary loss teaches the router to score the chosen tokens above 0 and the others below
    (section 3.5). Decoding token by token therefore computes the same as the whole text at once; the share of tokens
    that a layer computes then follows the text, and is only about `capacity`."""

    capacity: float = Field(default=0.125, gt=0, lt=1)
    """Share of the tokens of each text that a layer with a router computes in training, rounded up to a whole token."""
    interval: int = Field(default=2, ge=1, le=1000)
    """Which layers have a router: 2 for the second, the fourth and so on; the others compute all tokens."""
    auxiliary_loss: float = Field(default=0.1, ge=0, le=10)
    """Weight of the auxiliary loss: for each layer, the mean binary cross-entropy between the scores and whether they
    are among the highest of their text."""

    def computes(self, tokens: int) -> int:
        """The most of so many tokens of a text that a layer computes in training."""
        numerator, denominator = self.share
        return -(-tokens * numerator // denominator)

    @property
    def share(self) -> tuple[int, int]:
        """The capacity as the numerator and the denominator that its decimal digits mean, so that rounding up is
        exact."""
        return Fraction(str(self.capacity)).as_integer_ratio()


def check_mixture_of_depths(depths: MixtureOfDepths | None, *, layers: int, prefix: str) -> None:
    """Raises a refusal for routers that no layer would have, or whose choice could not be repeated in decoding."""
    if depths is None:
        return
    if depths.interval > layers:
        raise refused(
            "mixture_of_depths.interval",
            "no layer would have a router",
            got=f"{depths.interval}, with {layers} layers",
            allowed=f"1 to {layers}",
            fix=f"set `interval: {min(2, layers)}`, or remove `mixture_of_depths`",
        )
    if prefix != "causal":
        raise refused(
            "mixture_of_depths",
            "tokens of a prefix see each other in both directions, and routers are causal",
            got=f"mixture_of_depths, with prefix: {prefix}",
            allowed="prefix: causal",
            fix="set `prefix: causal`, or remove `mixture_of_depths`",
        )

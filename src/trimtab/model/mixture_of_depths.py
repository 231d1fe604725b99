"""A router that lets some tokens skip a layer."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from trimtab.config.mixture_of_depths import MixtureOfDepths
from trimtab.model.positions.kind import PositionInputs
from trimtab.model.router import Router
from trimtab.model.sequence_layout import SequenceLayout, sequence_layout
from trimtab.types import Stream


class Chosen(NamedTuple):
    """The tokens that a layer computes, as a stream of their own. Its sizes follow from those of the whole stream, so
    that a step can be compiled and recorded; slots that are left over hold tokens whose results are thrown away."""

    tokens: Int[Tensor, "slots"]
    """Which of the stream's, each at most once."""
    kept: Bool[Tensor, "slots"]
    """False for those whose results are thrown away."""
    layout: SequenceLayout
    places: Int[Tensor, "slots"]
    """The place of each in its text."""


class DepthRouter(Router):
    """Chooses the tokens of each text that a layer computes. Source: Raposo et al. 2024, arXiv 2404.02258, equation 1;
    the result of the layer is weighted by the sigmoid of the score, which the auxiliary loss trains as a probability.

    Name of its weight: `weight`, one number for each of the residual path.
    """

    def __init__(self, depths: MixtureOfDepths, *, dim: int) -> None:
        super().__init__()
        self.depths = depths
        self.causal = False
        """Whether it chooses in training as in evaluation; see `routed_causally`."""
        self.weight = nn.Parameter(torch.empty(dim))

    def scores(self, x: Float[Tensor, "tokens dim"]) -> Float[Tensor, "tokens"]:
        """In float32, whose small differences decide."""
        with torch.autocast(x.device.type, enabled=False):
            return x.float() @ self.weight.float()

    def choose(self, x: Float[Tensor, "tokens dim"], layout: SequenceLayout) -> Chosen:
        """The highest scores of each segment in training, those above 0 in evaluation; keeps the auxiliary loss, or
        the load."""
        scores, index = self.scores(x), torch.arange(len(x), device=x.device)
        segments = torch.searchsorted(layout.cu_seqlens[1:], index, right=True)
        places = index - layout.cu_seqlens[segments]
        real = self.real(scores)
        if not self.training or self.causal:
            passes = scores > 0
            self.auxiliary, self.load = None, ((passes * real).sum() / real.sum().clamp(min=1)).detach()
            # Causal attention hides what comes later: so does the order in which the others follow.
            tokens = (2 * segments + ~passes).argsort(stable=True)
            return Chosen(tokens, passes[tokens], layout, places[tokens])
        numerator, denominator = self.depths.share
        lengths = layout.cu_seqlens.diff().long()
        computed = (lengths * numerator + denominator - 1) // denominator
        best = scores.detach().argsort(descending=True, stable=True)
        best = best[
            segments[best].argsort(stable=True)
        ]  # within each segment, in which `places` are ranks now
        passes = torch.zeros_like(scores, dtype=torch.bool).scatter(0, best, places < computed[segments])
        losses = F.binary_cross_entropy_with_logits(scores, passes.to(scores.dtype), reduction="none")
        self.auxiliary = self.depths.auxiliary_loss * (losses * real).sum() / real.sum().clamp(min=1)
        return self._gathered(passes, computed, layout, places)

    def _gathered(
        self, passes: Tensor, computed: Int[Tensor, "segments"], layout: SequenceLayout, places: Tensor
    ) -> Chosen:
        """The chosen tokens in order, then tokens that fill the remaining slots, each in its own segment. Rounding up
        takes at most one extra slot for each text."""
        numerator, denominator = self.depths.share
        slots = min(len(passes), len(passes) * numerator // denominator + len(computed))
        tokens = (~passes).to(torch.uint8).argsort(stable=True)[:slots]
        filling = torch.arange(len(computed), device=computed.device) < slots - computed.sum()
        ends = torch.cat([computed, filling.to(computed.dtype)]).cumsum(0)
        cu_seqlens = F.pad(ends, (1, 0)).to(torch.int32)
        index = torch.arange(slots, device=tokens.device)
        segments = torch.searchsorted(ends, index, right=True)
        longest = self.depths.computes(layout.max_seqlen)
        stream = Stream(tokens, index - cu_seqlens[segments], segments, cu_seqlens, longest)
        padded = layout.places is not None
        return Chosen(tokens, passes[tokens], sequence_layout(stream, padded=padded), places[tokens])

    def put_back(
        self, x: Float[Tensor, "tokens dim"], computed: Float[Tensor, "slots dim"], chosen: Chosen
    ) -> Float[Tensor, "tokens dim"]:
        """The whole stream with the results of those that were computed."""
        entered = x[chosen.tokens]
        left = torch.where(chosen.kept[:, None], self._weighted(entered, computed), entered)
        return x.index_copy(0, chosen.tokens, left)

    def decided(
        self, x: Float[Tensor, "tokens dim"], computed: Float[Tensor, "tokens dim"]
    ) -> Float[Tensor, "tokens dim"]:
        """The same where all tokens were computed, as in decoding, for those that `takes` names."""
        return torch.where(self.takes(x)[:, None], self._weighted(x, computed), x)

    def takes(self, x: Float[Tensor, "tokens dim"]) -> Bool[Tensor, "tokens"]:
        """Which tokens the layer computes in evaluation; each by itself."""
        return self.scores(x) > 0

    def _weighted(self, entered: Tensor, computed: Tensor) -> Tensor:
        weights = self.scores(entered).sigmoid()[:, None]
        return (entered + weights * (computed - entered)).to(entered.dtype)


def positions_of(positions: PositionInputs, chosen: Chosen) -> PositionInputs:
    """What self-attention takes of positions for the tokens that are computed: they are where they were in the text."""
    rotary, bias, distances = positions
    if rotary is not None:
        rotary = rotary._replace(cos=rotary.cos[chosen.tokens], sin=rotary.sin[chosen.tokens])
    if bias is None and distances is None:
        return PositionInputs(rotary)
    layout = chosen.layout
    assert layout.places is not None, "positions that need padded rows"
    rows = len(layout.cu_seqlens) - 1
    places = chosen.places.new_zeros(rows * layout.max_seqlen).index_copy(0, layout.places, chosen.places)
    places = places.view(rows, layout.max_seqlen)
    queries, keys = places[:, :, None], places[:, None, :]
    return PositionInputs(
        rotary,
        None if bias is None else bias[:, queries, keys].transpose(0, 1),
        None if distances is None else distances[queries, keys],
    )


@contextmanager
def routed_causally(model: nn.Module) -> Iterator[None]:
    """While it is open, routers choose in training as in evaluation, without a look at later tokens."""
    routers = [each for each in model.modules() if isinstance(each, DepthRouter)]
    for each in routers:
        each.causal = True
    try:
        yield
    finally:
        for each in routers:
            each.causal = False


def depth_loads(model: nn.Module) -> dict[str, float]:
    """By layer with a router, the share of the tokens that it computed in the last evaluated batch."""
    return {
        name: float(module.load)
        for name, module in model.named_modules()
        if isinstance(module, DepthRouter) and module.load is not None
    }

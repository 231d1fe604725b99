"""A feed-forward sub-layer of several experts, each token computed by a few of them."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int32
from torch import Tensor, nn

from trimtab.config.experts import Experts
from trimtab.model.feed_forward import GATED, FeedForward, activated
from trimtab.model.layer_settings import LayerSettings
from trimtab.model.router import Router


def build_feed_forward(config: LayerSettings) -> nn.Module:
    """The feed-forward sub-layer of a layer: one block, or several of which each token uses a few."""
    return FeedForward(config) if config.experts is None else MixtureOfExperts(config, config.experts)


class Routes(NamedTuple):
    """Which experts the tokens use."""

    weights: Float[Tensor, "tokens active"]
    chosen: Int[Tensor, "tokens active"]
    order: Int[Tensor, "uses"]
    """Tokens times active, sorted by expert: place `i` holds use `order[i]` of the tokens' uses, one token after
    another."""
    ends: Int32[Tensor, "experts"]
    """Where the uses of each expert end in that order."""


class MixtureOfExperts(Router):
    """`sum of weight * expert(x)` over the experts that a router chooses for each token. Dropless: the products of all
    experts are one grouped product over tokens sorted by expert (MegaBlocks, arXiv 2211.15841).

    Names of weights: `router.weight`, and for all experts together `up`, `experts inner dim` (the gate above the other
    map where the activation is gated), and `down`, `experts dim inner`.
    """

    def __init__(self, config: LayerSettings, experts: Experts) -> None:
        super().__init__()
        self.experts, self.activation = experts, config.activation
        gates = 2 if config.activation in GATED else 1
        self.router = nn.Linear(config.dim, experts.count, bias=False)
        self.up = nn.Parameter(torch.empty(experts.count, gates * config.feed_forward, config.dim))
        self.down = nn.Parameter(torch.empty(experts.count, config.dim, config.feed_forward))
        self.load: Float[Tensor, "experts"] | None = None
        """Share of the uses that each expert had in the last pass in evaluation."""

    def forward(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Each vector by itself."""
        shape, x = x.shape, x.flatten(0, -2)
        routes = self.route(x)
        taken = x.index_select(0, routes.order // self.experts.active)
        hidden = activated(grouped_product(taken, self.up, routes.ends), self.activation)
        given = grouped_product(hidden, self.down, routes.ends)
        back = torch.empty_like(routes.order).scatter_(
            0, routes.order, torch.arange(len(routes.order), device=x.device)
        )
        given = given.index_select(0, back).unflatten(0, routes.chosen.shape)
        return (given * routes.weights.to(given.dtype)[..., None]).sum(1).view(shape)

    def route(self, x: Float[Tensor, "tokens dim"]) -> Routes:
        """Scores in float32, whose small differences decide; keeps the auxiliary losses, or the load."""
        with torch.autocast(x.device.type, enabled=False):
            scores = F.linear(x.float(), self.router.weight.float())
            chances = scores.softmax(-1)
            weights, chosen = chances.topk(self.experts.active, dim=-1)
            if self.experts.active > 1:
                weights = weights / weights.sum(-1, keepdim=True)
            uses = chosen.flatten()
            counts = torch.zeros_like(scores[0]).scatter_add(
                0, uses, torch.ones_like(uses, dtype=scores.dtype)
            )
            real = self.real(scores)
            real_uses = real.repeat_interleave(self.experts.active)
            share = torch.zeros_like(scores[0]).scatter_add(0, uses, real_uses)
            share = share / real_uses.sum().clamp(min=1)
            if self.training:
                self.auxiliary = self._auxiliary(scores, chances, share, real=real)
            else:
                self.auxiliary, self.load = None, share.detach()
        return Routes(weights, chosen, uses.argsort(stable=True), counts.cumsum(0).to(torch.int32))

    def _auxiliary(self, scores: Tensor, chances: Tensor, share: Tensor, *, real: Tensor) -> Tensor:
        """The load-balancing loss, which is 1 for an even use, and the router z-loss, with their weights; means over
        the real tokens."""
        count = real.sum().clamp(min=1)
        balance = self.experts.count * (share * (chances * real[:, None]).sum(0) / count).sum()
        divisor = (scores.logsumexp(-1).square() * real).sum() / count
        return self.experts.load_balancing_loss * balance + self.experts.router_z_loss * divisor


def grouped_product(
    x: Float[Tensor, "uses inputs"],
    weights: Float[Tensor, "experts outputs inputs"],
    ends: Int32[Tensor, "experts"],
) -> Float[Tensor, "uses outputs"]:
    """Each row by the matrix of its expert; rows are sorted by expert. In the precision of autocast where it is on."""
    kind = x.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weights.dtype
    with torch.autocast(kind, enabled=False):
        return F.grouped_mm(x.to(dtype), weights.to(dtype).mT, offs=ends)


def grouped_product_one_by_one(
    x: Float[Tensor, "uses inputs"],
    weights: Float[Tensor, "experts outputs inputs"],
    ends: Int32[Tensor, "experts"],
) -> Float[Tensor, "uses outputs"]:
    """The same, an expert after another: the slow twin."""
    parts = x.tensor_split(ends[:-1].tolist())
    return torch.cat([part @ weight.T for part, weight in zip(parts, weights, strict=True)])


def expert_loads(model: nn.Module) -> dict[str, float]:
    """By layer, how often the most used expert was used in the last evaluated batch, 1 being its even share."""
    return {
        name: float(module.load.max()) * module.experts.count
        for name, module in model.named_modules()
        if isinstance(module, MixtureOfExperts) and module.load is not None
    }


@torch.no_grad()
def fill_experts(module: MixtureOfExperts, *, generator: torch.Generator, std: float, damp: float) -> None:
    """Normal weights; those of `down`, which write to the residual path, times `damp`."""
    for weight, scale in ((module.router.weight, 1.0), (module.up, 1.0), (module.down, damp)):
        weight.normal_(0.0, std * scale, generator=generator)


def xavier_std(inputs: int, outputs: int) -> float:
    """The standard deviation of Xavier-uniform weights."""
    return math.sqrt(2 / (inputs + outputs))

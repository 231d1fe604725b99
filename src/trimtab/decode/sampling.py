"""Sampling options: temperature, top-k, top-p, min-p, epsilon."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from trimtab.errors import InputError, input_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Settings of drawing a text symbol by symbol; without any, from the model's own distribution."""

    temperature: float = 1.0
    """Scores are divided by it: below 1 the likely becomes likelier, above 1 all become more alike."""
    top_k: int | None = None
    """Only the likeliest so many symbols (Fan et al. 2018, arXiv 1805.04833); 1 is greedy."""
    top_p: float | None = None
    """Only the likeliest symbols that together reach this probability (Holtzman et al. 2019, arXiv 1904.09751)."""
    min_p: float | None = None
    """Only symbols that have at least this share of the likeliest one's probability, which keeps few where the model is
    sure and many where it is not (Nguyen et al. 2024, arXiv 2407.01082); 0.05 to 0.1 is usual."""
    epsilon: float | None = None
    """Only symbols that have at least this probability, and the likeliest (Hewitt et al. 2022, arXiv 2210.15191);
    Freitag et al. 2023, arXiv 2305.09860, found 0.02 the best for candidates to choose a translation from."""
    seed: int = 1
    """With the line's number it fixes what is drawn."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and 0.01 <= self.temperature <= 100):
            raise _out_of_range(
                "temperature",
                self.temperature,
                "0.01 to 100",
                "1.0 is the model's own; for the likeliest symbol each time do not sample (`generate --temperature 0`)",
            )
        if self.top_k is not None and self.top_k < 1:
            raise _out_of_range("top_k", self.top_k, "1 or more", "leave it out to draw from all symbols")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise _out_of_range("top_p", self.top_p, "above 0, at most 1", "0.9 is usual")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise _out_of_range("min_p", self.min_p, "0 to 1", "0.05 is usual")
        if self.epsilon is not None and not 0 <= self.epsilon < 1:
            raise _out_of_range("epsilon", self.epsilon, "0 or more, below 1", "0.02 is usual")
        if not 0 <= self.seed < 2**63:
            raise _out_of_range("seed", self.seed, "0 to 2 ** 63 - 1", "any number, such as 1")


def allowed_probabilities(
    scores: Float[Tensor, "rows width vocabulary"], sampling: Sampling
) -> Float64[Tensor, "rows width vocabulary"]:
    """Probabilities of the symbols to draw from, those left out at 0 and the others summing to 1.

    In the order that other tools have: the temperature first, then of what is left each time the likeliest `top_k`,
    the `top_p`, those of at least `min_p` of the likeliest, those of at least `epsilon`. The likeliest symbol always
    stays. NaN where every score is minus infinity.
    """
    kept = scores.double() / sampling.temperature
    if sampling.top_k is not None and sampling.top_k < kept.shape[-1]:
        kept = kept.masked_fill(kept < kept.topk(sampling.top_k).values[..., -1:], -math.inf)
    if sampling.top_p is not None:
        falling, order = kept.softmax(-1).sort(descending=True, stable=True)
        beyond = falling.cumsum(-1) - falling >= sampling.top_p
        kept = kept.masked_fill(torch.zeros_like(beyond).scatter(-1, order, beyond), -math.inf)
    if sampling.min_p is not None and sampling.min_p > 0:
        least = kept.max(-1, keepdim=True).values + math.log(sampling.min_p)
        kept = kept.masked_fill(kept < least, -math.inf)
    if sampling.epsilon is not None:
        likely = kept.softmax(-1)
        rare = (likely < sampling.epsilon) & (likely < likely.max(-1, keepdim=True).values)
        kept = kept.masked_fill(rare, -math.inf)
    return kept.softmax(-1)


def _out_of_range(name: str, got: float | int, allowed: str, fix: str) -> InputError:
    return input_error(f"{name}: out of range", got=str(got), allowed=allowed, fix=fix)

"""From an image to noise and back: the schedules, what is predicted of an image with noise, and how errors count.

At time t, from 0 to 1, an image `x0` with noise `epsilon` is `x = alpha x0 + sigma epsilon`; its signal-to-noise ratio
(SNR) is `alpha² / sigma²`.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.config.diffusion_model import DiffusionModel, Prediction

LAST_OF_EPSILON = 0.99
"""Where the times of a model that predicts the noise end: at 1 there is nothing but noise, from which the noise says
nothing about the image (`x0 = (x - sigma epsilon) / alpha` with alpha 0)."""
LEAST = 1e-6
"""Of what is divided by."""


class Split(NamedTuple):
    """What an image with noise is made of."""

    x0: Tensor
    epsilon: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The noise process of a model. Times are tensors with a dimension for images, and as many more as what they are
    multiplied with."""

    prediction: Prediction = "flow"
    times: Literal["uniform", "logit_normal"] = "uniform"
    shift: float = 1.0
    weighting: Literal["none", "min_snr"] = "none"
    snr_gamma: float = 5.0

    @classmethod
    def of(cls, model: DiffusionModel) -> "Process":
        """The one that a recipe describes."""
        return cls(
            prediction=model.prediction,
            times=model.times,
            shift=model.shift,
            weighting=model.weighting,
            snr_gamma=model.snr_gamma,
        )

    @property
    def last(self) -> float:
        """The latest time, from which sampling starts."""
        return LAST_OF_EPSILON if self.prediction == "epsilon" else 1.0

    def factors(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """alpha and sigma: `1 - t` and `t` on the straight line of rectified flow (arXiv 2209.03003, equation 1), or
        the cosine and the sine of `pi t / 2`, whose squares add up to 1 (arXiv 2202.00512, section 4)."""
        if self.prediction == "flow":
            return 1 - t, t
        angle = t * (math.pi / 2)
        return angle.cos().clamp(min=0), angle.sin()

    def slopes(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """The derivatives of alpha and sigma by time."""
        if self.prediction == "flow":
            return -torch.ones_like(t), torch.ones_like(t)
        angle = t * (math.pi / 2)
        return -math.pi / 2 * angle.sin(), math.pi / 2 * angle.cos()

    def noised(self, x0: Tensor, epsilon: Tensor, t: Tensor) -> Tensor:
        """The image with the noise of a time."""
        alpha, sigma = self.factors(t)
        return alpha * x0 + sigma * epsilon

    def target(self, x0: Tensor, epsilon: Tensor, t: Tensor) -> Tensor:
        """What the model has to predict."""
        match self.prediction:
            case "flow":
                return epsilon - x0
            case "epsilon":
                return epsilon
            case "x0":
                return x0
            case "v":
                alpha, sigma = self.factors(t)
                return alpha * epsilon - sigma * x0
            case _:
                assert_never(self.prediction)

    def split(self, x: Tensor, predicted: Tensor, t: Tensor) -> Split:
        """Image and noise that a prediction says `x` is made of."""
        alpha, sigma = self.factors(t)
        match self.prediction:
            case "flow":
                return Split(x - sigma * predicted, x + alpha * predicted)
            case "epsilon":
                return Split((x - sigma * predicted) / alpha.clamp(min=LEAST), predicted)
            case "x0":
                return Split(predicted, (x - alpha * predicted) / sigma.clamp(min=LEAST))
            case "v":
                return Split(alpha * x - sigma * predicted, sigma * x + alpha * predicted)
            case _:
                assert_never(self.prediction)

    def weight(self, t: Float[Tensor, "images"]) -> Float[Tensor, "images"]:
        """By what the squared error of an image is multiplied in the objective.

        Min-SNR (Hang et al. 2023, arXiv 2303.09556, section 3.4) weights the error of x0 by `min(SNR, gamma)`. Brought
        to what is predicted, by the square of how far x0 moves with it, that is `min(SNR, gamma) / SNR` for epsilon,
        `min(SNR, gamma) / (SNR + 1)` for v, and `min(SNR, gamma) sigma²` for flow. Finite at every time, where SNR is 0
        (there the weight of epsilon is its limit, 1) and where it is infinite.
        """
        if self.weighting == "none":
            return torch.ones_like(t)
        alpha, sigma = self.factors(t)
        signal, bound = alpha**2, self.snr_gamma * sigma**2
        match self.prediction:
            case "epsilon":
                return torch.where(bound >= signal, 1.0, bound / signal.clamp(min=LEAST**2))
            case "x0":
                whole = torch.full_like(signal, self.snr_gamma)
                return torch.where(signal >= bound, whole, signal / sigma.clamp(min=LEAST) ** 2)
            case "flow" | "v":
                return torch.minimum(signal, bound)
            case _:
                assert_never(self.prediction)

    def times_of(self, uniform: Float[Tensor, "images"]) -> Float[Tensor, "images"]:
        """Times of training for numbers between 0 and 1: by the distribution of the recipe, then shifted."""
        t = uniform.clamp(1e-6, 1 - 1e-6)
        if self.times == "logit_normal":
            t = torch.special.ndtri(t).sigmoid()
        return self.last * self.shifted(t)

    def grid(self, steps: int) -> Float[Tensor, "times"]:
        """The times of a sampler, float64: from the latest one in `steps` steps to 0, shifted as in training."""
        return self.last * self.shifted(torch.linspace(1, 0, steps + 1, dtype=torch.float64))

    def shifted(self, t: Tensor) -> Tensor:
        """Times moved toward the noise. Source: Esser et al. 2024, arXiv 2403.03206, equation 23."""
        return self.shift * t / (1 + (self.shift - 1) * t)

    def untrained_loss(self, *, second_moment: float, count: int = 4096) -> float:
        """The loss of a model that always predicts 0, without weights: the mean square of the target, for images with
        this mean square of their numbers."""
        t = self.times_of((torch.arange(count, dtype=torch.float64) + 0.5) / count)
        alpha, sigma = self.factors(t)
        match self.prediction:
            case "flow":
                return 1 + second_moment
            case "epsilon":
                return 1.0
            case "x0":
                return second_moment
            case "v":
                return float((alpha**2 + sigma**2 * second_moment).mean())
            case _:
                assert_never(self.prediction)

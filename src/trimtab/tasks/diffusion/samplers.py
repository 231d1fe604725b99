"""From noise to images by a model's predictions."""

import itertools
from collections.abc import Callable
from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.config.diffusion_model import SamplerName
from trimtab.tasks.diffusion.process import LEAST, Process, Split

Predict = Callable[[Tensor, Tensor], Tensor]
"""From images with noise `images ...` and the time of each `images`, what the model predicts."""


@torch.no_grad()
def sample(
    predict: Predict,
    noise: Float[Tensor, "images *shape"],
    process: Process,
    *,
    sampler: SamplerName = "euler",
    steps: int = 50,
    clip: float | None = None,
) -> Float[Tensor, "images *shape"]:
    """What the noise becomes in so many steps, in its precision. With `clip` the image that is predicted at each step
    is kept between minus and plus this number, which all images are (arXiv 2205.11487, section 2.3)."""
    x, times = noise, process.grid(steps).tolist()
    for now, after in itertools.pairwise(times):
        t = torch.full((len(x),), now, dtype=x.dtype, device=x.device)
        broadcast = t.view(-1, *[1] * (x.ndim - 1))
        found = process.split(x, predict(x, t), broadcast)
        if clip is not None:
            found = clipped(x, found, broadcast, process, most=clip)
        x = moved(x, found, process, sampler=sampler, now=now, after=after)
    return x


def moved(
    x: Tensor, found: Split, process: Process, *, sampler: SamplerName, now: float, after: float
) -> Tensor:
    """One step from a time to an earlier one."""
    match sampler:
        case "euler":
            # The probability flow, dx/dt = alpha' x0 + sigma' epsilon (arXiv 2011.13456, section 4.3).
            alpha, sigma = (float(each) for each in process.slopes(torch.tensor(now, dtype=torch.float64)))
            return x + (after - now) * (alpha * found.x0 + sigma * found.epsilon)
        case "ddim":
            # Song et al. 2021, arXiv 2010.02502, equation 12 with a variance of 0.
            alpha, sigma = (float(each) for each in process.factors(torch.tensor(after, dtype=torch.float64)))
            return alpha * found.x0 + sigma * found.epsilon
        case _:
            assert_never(sampler)


def clipped(x: Tensor, found: Split, t: Tensor, process: Process, *, most: float) -> Split:
    """The image kept within bounds, and the noise that then remains of `x`."""
    x0 = found.x0.clamp(-most, most)
    alpha, sigma = process.factors(t)
    return Split(x0, torch.where(x0 == found.x0, found.epsilon, (x - alpha * x0) / sigma.clamp(min=LEAST)))


def guided(
    conditional: Callable[[Tensor, Tensor, Tensor], Tensor],
    labels: Tensor,
    *,
    scale: float,
    no_class: int,
) -> Predict:
    """The predictions of a model for these labels, moved away from those for no class, which is label `no_class`, by a
    scale (Ho and Salimans 2022, arXiv 2207.12598, equation 6, whose w is `scale - 1`). Of a scale of 1 or 0, and where
    no image has a class, each pass has one half of the images."""
    unknown = torch.full_like(labels, no_class)
    if scale == 1 or bool((labels == no_class).all()):
        return lambda x, t: conditional(x, t, labels)
    if scale == 0:
        return lambda x, t: conditional(x, t, unknown)

    def predict(x: Tensor, t: Tensor) -> Tensor:
        both = conditional(torch.cat([x, x]), torch.cat([t, t]), torch.cat([labels, unknown]))
        given, without = both.chunk(2)
        return without + scale * (given - without)

    return predict

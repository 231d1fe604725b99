"""AdamW that slows down where its second moment lags behind the gradients."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.optimizers import StableAdamW as StableAdamWConfig
from trimtab.step.multipliers import RoleOf
from trimtab.step.optimizer.moments import MomentOptimizer


class StableAdamW(MomentOptimizer):
    """Source: Wortsman et al., arXiv 2304.13013, algorithm 2. The rate of a tensor is divided by
    max(1, RMS(gradient / sqrt(second moment))): a sudden gradient moves the weights no further than a usual one."""

    def __init__(self, config: StableAdamWConfig, model: nn.Module, *, role_of: RoleOf | None = None) -> None:
        super().__init__(config, model, role_of=role_of)
        self.betas, self.eps = config.betas, config.eps

    def zero_moments(self, parameter: Tensor) -> list[Tensor]:
        """First and second moment."""
        return [torch.zeros_like(parameter), torch.zeros_like(parameter)]

    def advance(
        self, gradient: Tensor, moments: list[Tensor], *, step: Float[Tensor, ""]
    ) -> tuple[Tensor, list[Tensor], Float[Tensor, ""]]:
        """AdamW's change, and a factor of at most 1 for the rate."""
        # Debiased moments directly: a decay that is 0 in the first step and rises to beta.
        # In float32 1 - beta**step loses its digits, all of them where beta is near 1.
        count = step.double()
        first_decay, second_decay = (
            beta * (1 - beta ** (count - 1)) / (1 - beta**count) for beta in self.betas
        )
        first = moments[0] * first_decay + gradient * (1 - first_decay)
        second = moments[1] * second_decay + gradient.square() * (1 - second_decay)
        rms = (gradient.square() / second.clamp(min=self.eps**2)).mean().sqrt()
        return first / (second.sqrt() + self.eps), [first, second], 1 / rms.clamp(min=1.0)

"""Lion: the sign of an interpolated momentum."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.optimizers import Lion as LionConfig
from trimtab.step.multipliers import RoleOf
from trimtab.step.optimizer.moments import MomentOptimizer


class Lion(MomentOptimizer):
    """Source: Chen et al., arXiv 2302.06675, algorithm 2."""

    def __init__(self, config: LionConfig, model: nn.Module, *, role_of: RoleOf | None = None) -> None:
        super().__init__(config, model, role_of=role_of)
        self.betas = config.betas

    def zero_moments(self, parameter: Tensor) -> list[Tensor]:
        """The momentum."""
        return [torch.zeros_like(parameter)]

    def advance(
        self, gradient: Tensor, moments: list[Tensor], *, step: Float[Tensor, ""]
    ) -> tuple[Tensor, list[Tensor], float]:
        """One in the direction of the momentum, which then takes in the gradient with its own decay."""
        now, kept = self.betas
        change = (moments[0] * now + gradient * (1 - now)).sign()
        return change, [moments[0] * kept + gradient * (1 - kept)], 1.0

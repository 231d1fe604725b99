"""Stochastic gradient descent with momentum."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.optimizers import SGD as SGDConfig
from trimtab.step.multipliers import RoleOf
from trimtab.step.optimizer.moments import MomentOptimizer


class SGD(MomentOptimizer):
    """Source: Sutskever et al. 2013, "On the importance of initialization and momentum", in the form in which the rate
    multiplies the momentum, so that a schedule acts at once; weight decay is decoupled (arXiv 1711.05101, algorithm
    1)."""

    def __init__(self, config: SGDConfig, model: nn.Module, *, role_of: RoleOf | None = None) -> None:
        super().__init__(config, model, role_of=role_of)
        self.momentum, self.nesterov = config.momentum, config.nesterov

    def zero_moments(self, parameter: Tensor) -> list[Tensor]:
        """The momentum."""
        return [torch.zeros_like(parameter)]

    def advance(
        self, gradient: Tensor, moments: list[Tensor], *, step: Float[Tensor, ""]
    ) -> tuple[Tensor, list[Tensor], float]:
        """The momentum with this gradient; with Nesterov's, as it will be after one more of the same."""
        momentum = moments[0] * self.momentum + gradient
        change = gradient + momentum * self.momentum if self.nesterov else momentum
        return change, [momentum], 1.0

"""AdEMAMix: AdamW whose step is the sum of a fast and a slow momentum."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.optimizers import AdEMAMix as AdEMAMixConfig
from trimtab.step.multipliers import RoleOf
from trimtab.step.optimizer.moments import MomentOptimizer


class AdEMAMix(MomentOptimizer):
    """Source: Pagliardini et al., arXiv 2409.03137, algorithm 1, with the schedulers of alpha and beta3 of section 3.
    As there, the slow momentum is not corrected for its first value of 0."""

    def __init__(self, config: AdEMAMixConfig, model: nn.Module, *, role_of: RoleOf | None = None) -> None:
        super().__init__(config, model, role_of=role_of)
        self.config = config

    def zero_moments(self, parameter: Tensor) -> list[Tensor]:
        """Fast momentum, second moment, slow momentum."""
        return [torch.zeros_like(parameter) for _ in range(3)]

    def advance(
        self, gradient: Tensor, moments: list[Tensor], *, step: Float[Tensor, ""]
    ) -> tuple[Tensor, list[Tensor], float]:
        """Both momenta over the root of the second moment."""
        fast_decay, square_decay, slow_decay = self.config.betas
        count = step.double()  # in float32 a power of a decay near 1 loses its digits
        risen = (count / self.config.mixing_warmup_steps).clamp(max=1.0)
        # The half-life of the slow momentum rises in a line, and it is as 1 / log(decay).
        slow_decay = torch.exp(1 / ((1 - risen) / math.log(fast_decay) + risen / math.log(slow_decay)))
        fast = moments[0] * fast_decay + gradient * (1 - fast_decay)
        square = moments[1] * square_decay + gradient.square() * (1 - square_decay)
        slow = moments[2] * slow_decay + gradient * (1 - slow_decay)
        root = (square / (1 - square_decay**count)).sqrt() + self.config.eps
        change = (fast / (1 - fast_decay**count) + self.config.alpha * risen * slow) / root
        return change, [fast, square, slow], 1.0

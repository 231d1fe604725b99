"""Adafactor with an external learning rate: second moments by rows and columns, no first moment."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.optimizers import Adafactor as AdafactorConfig
from trimtab.step.multipliers import RoleOf
from trimtab.step.optimizer.moments import MomentOptimizer


class Adafactor(MomentOptimizer):
    """Source: Shazeer and Stern, arXiv 1804.04235, algorithms 4 (matrices) and 5 (vectors), with the rate given from
    outside in place of section 8's relative step size."""

    def __init__(self, config: AdafactorConfig, model: nn.Module, *, role_of: RoleOf | None = None) -> None:
        super().__init__(config, model, role_of=role_of)
        self.config = config

    def zero_moments(self, parameter: Tensor) -> list[Tensor]:
        """Row and column means for a matrix, one full moment for anything else."""
        if parameter.ndim == 2:
            return [parameter.new_zeros(parameter.shape[0]), parameter.new_zeros(parameter.shape[1])]
        return [torch.zeros_like(parameter)]

    def advance(
        self, gradient: Tensor, moments: list[Tensor], *, step: Float[Tensor, ""]
    ) -> tuple[Tensor, list[Tensor], float]:
        """The gradient over the root of the second moment, no larger than `clip_update` in root mean square."""
        decay = 1 - step**-self.config.decay_exponent
        square = gradient.square() + self.config.eps
        fresh = [square.mean(1), square.mean(0)] if len(moments) == 2 else [square]
        moments = [old * decay + new * (1 - decay) for old, new in zip(moments, fresh, strict=True)]
        change = gradient * scale_of(moments)
        rms = change.square().mean().sqrt()
        return change / (rms / self.config.clip_update).clamp(min=1.0), moments, 1.0


def scale_of(moments: list[Tensor]) -> Tensor:
    """One over the square root of the second moment, put together from rows and columns (equation 4)."""
    if len(moments) == 1:
        return moments[0].rsqrt()
    rows, columns = moments
    return (rows / rows.mean()).rsqrt()[:, None] * columns.rsqrt()[None, :]

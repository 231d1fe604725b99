"""Muon: the momentum of a matrix, made orthogonal by Newton-Schulz iterations; AdamW for the rest."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.optimizers import Muon as MuonConfig
from trimtab.step.groups import parameter_groups
from trimtab.step.multipliers import RoleOf
from trimtab.step.optimizer.moments import MomentOptimizer

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic iteration, chosen for speed: singular values end between about 0.7 and 1.2."""
SIZE_OF_ADAM = 0.2
"""Root mean square of AdamW's updates, which those of matrices are scaled to."""


class Muon(MomentOptimizer):
    """Source: Jordan et al. 2024, kellerjordan.github.io/posts/muon; sizes by Liu et al., arXiv 2502.16982, equation 4.
    A fused matrix, such as that of queries, keys and values, is one matrix."""

    def __init__(self, config: MuonConfig, model: nn.Module, *, role_of: RoleOf | None = None) -> None:
        self.config = config
        decayed, _ = parameter_groups(model)
        self.matrices = {id(each) for each in decayed.values() if each.ndim == 2}
        super().__init__(config, model, role_of=role_of)

    def zero_moments(self, parameter: Tensor) -> list[Tensor]:
        """The momentum of a matrix; AdamW's two moments of anything else."""
        return [torch.zeros_like(parameter) for _ in range(1 if id(parameter) in self.matrices else 2)]

    def advance(
        self, gradient: Tensor, moments: list[Tensor], *, step: Float[Tensor, ""]
    ) -> tuple[Tensor, list[Tensor], float]:
        """The orthogonal momentum, or AdamW's step where there are two moments."""
        if len(moments) == 1:
            kept = moments[0] * self.config.momentum + gradient
            ahead = gradient + self.config.momentum * kept if self.config.nesterov else kept
            size = SIZE_OF_ADAM * max(gradient.shape) ** 0.5
            return orthogonal(ahead, iterations=self.config.iterations) * size, [kept], 1.0
        first, second = self.config.betas
        mean = moments[0] * first + gradient * (1 - first)
        square = moments[1] * second + gradient.square() * (1 - second)
        root = (square / (1 - second**step)).sqrt() + self.config.eps
        return mean / (1 - first**step) / root, [mean, square], 1.0


def orthogonal(x: Float[Tensor, "rows columns"], *, iterations: int) -> Float[Tensor, "rows columns"]:
    """About U Vᵀ of the singular value decomposition U S Vᵀ. In bfloat16 on a GPU, which the iteration bears."""
    a, b, c = COEFFICIENTS
    wide = x.shape[0] <= x.shape[1]
    y = x if wide else x.T
    y = y / (torch.linalg.vector_norm(y) + 1e-30)  # in the precision of the gradient, which may be tiny
    if x.device.type == "cuda":
        y = y.bfloat16()
    for _ in range(iterations):
        gram = y @ y.T
        y = a * y + (b * gram + c * gram @ gram) @ y
    return (y if wide else y.T).to(x.dtype)

"""Keeps weights within a multiple of what they began with."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from trimtab.step.optimizer.protocol import Optimizer


class ClippedWeights:
    """Another optimizer, after whose update no entry of a matrix is outside ± at × its largest first entry.

    Source: Elsayed et al., arXiv 2407.01704, algorithm 1, where the bound is that of a uniform initialisation; here it
    is read from the first weights, which are a function of the seed, so that a resumed run has the same. Norms and
    biases are left alone.
    """

    def __init__(self, inner: Optimizer, *, at: float) -> None:
        self.inner = inner
        self.matrices = [parameter for parameter in inner.parameters if parameter.ndim >= 2]
        self.bounds = [at * parameter.detach().abs().max() for parameter in self.matrices]

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that it moves."""
        return self.inner.parameters

    @torch.no_grad()
    def update(self, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]) -> None:
        """The inner update, and the bound; weights that did not move are within it already."""
        self.inner.update(learning_rate=learning_rate, skip=skip)
        for parameter, bound in zip(self.matrices, self.bounds, strict=True):
            parameter.clamp_(min=-bound, max=bound)

    def state_tensors(self) -> dict[str, Tensor]:
        """The inner optimizer's: the bound is no state."""
        return self.inner.state_tensors()

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state."""
        self.inner.load_state_tensors(saved)

"""The factor that keeps small fp16 gradients from becoming zero."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class LossScale:
    """Halves after a step whose gradients overflowed, doubles after many that did not; all on the device.

    With `enabled=False` it is nothing: no scaling, no state. Source: Micikevicius et al., arXiv 1710.03740, section
    3.2; constants as in PyTorch's GradScaler.
    """

    def __init__(
        self, *, enabled: bool, device: torch.device, start: float = 2.0**16, patience: int = 2000
    ) -> None:
        self.enabled = enabled
        self.patience = patience
        self.factor = torch.tensor(start, device=device)
        self.good_steps = torch.zeros((), device=device)

    @property
    def inverse(self) -> Float[Tensor, ""] | None:
        """What gradients must be multiplied with, or None if they were not scaled."""
        return 1 / self.factor if self.enabled else None

    def up(self, objective: Float[Tensor, ""]) -> Float[Tensor, ""]:
        """The objective to call backward on."""
        return objective * self.factor if self.enabled else objective

    def after(self, skipped: Bool[Tensor, ""]) -> None:
        """Adapts the factor to what the step showed."""
        if not self.enabled:
            return
        good = torch.where(skipped, 0.0, self.good_steps + 1)
        grow = good >= self.patience
        # In place, here and in all state of a step: a recorded step finds it where it was when it was recorded.
        self.factor.copy_(
            torch.where(skipped, self.factor / 2, torch.where(grow, self.factor * 2, self.factor))
        )
        self.good_steps.copy_(torch.where(grow, 0.0, good))

    def to_dict(self) -> dict[str, float]:
        """Plain numbers for the checkpoint."""
        return {"factor": float(self.factor), "good_steps": float(self.good_steps)} if self.enabled else {}

    def from_dict(self, saved: dict[str, float]) -> None:
        """Goes on from a checkpoint."""
        if self.enabled and saved:
            self.factor.fill_(saved["factor"])
            self.good_steps.fill_(saved["good_steps"])

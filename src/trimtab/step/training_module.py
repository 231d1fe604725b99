"""Model and loss as one module: what a step calls, and what a wrapper for several GPUs can wrap."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from trimtab.step.precision import Resolved, autocast
from trimtab.types import Batch, LossOutput


class TrainingModule(nn.Module):
    """Forward pass and summed loss of one micro-batch, in the run's precision.

    The loss reads weights of the model, such as the output matrix, inside of `forward`: DDP and FSDP2 gather what is
    used there and nothing else.
    """

    def __init__(
        self,
        model: nn.Module,
        compute_loss: Callable[[nn.Module, Any], LossOutput],
        *,
        precision: Resolved,
        device: torch.device,
    ) -> None:
        super().__init__()
        self.model = model
        self.compute_loss = compute_loss
        self.precision: Resolved = precision
        self.device = device

    def forward(self, batch: Batch) -> LossOutput:
        """The summed loss of a micro-batch on the device."""
        with autocast(self.precision, self.device):
            return self.compute_loss(self.model, batch)

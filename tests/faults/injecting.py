"""Faults in the numbers of a run: losses and gradients that are not what they were, weights changed in memory."""

from collections.abc import Callable, Container

import torch
from torch import nn

from trimtab.build import Parts
from trimtab.types import LossOutput, PackedBatch


def spoil(
    parts: Parts, *, at: Container[int], step: Callable[[], int], loss: float = 1.0, gradient: float = 1.0
) -> None:
    """Multiplies the loss and its gradient by `loss`, and the gradient alone by `gradient`, at some steps.

    `step` says which step is being taken, from 1. Evaluations, which need no gradient, stay as they are.
    """
    healthy = parts.stepper.objective

    def objective(pack: PackedBatch) -> LossOutput:
        out = healthy(pack)
        if not torch.is_grad_enabled() or step() not in at:
            return out
        spoiled = out.objective * loss
        if gradient != 1.0:
            spoiled.register_hook(lambda grad: grad * gradient)
        return LossOutput(spoiled, out.loss * loss, out.truncated)

    parts.stepper.objective = objective


def spoil_one_entry(
    parameter: nn.Parameter, value: float, *, at: Container[int], step: Callable[[], int]
) -> None:
    """Puts a number into one entry of a parameter's gradient at some steps."""

    def spoiled(grad: torch.Tensor) -> torch.Tensor:
        if step() not in at:
            return grad
        grad = grad.clone()
        grad.view(-1)[0] = value
        return grad

    parameter.register_hook(spoiled)


def poke(model: nn.Module, name: str, value: float) -> None:
    """Changes one weight in memory, as a flipped bit does."""
    with torch.no_grad():
        model.get_parameter(name).view(-1)[0] = value

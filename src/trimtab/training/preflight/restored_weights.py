"""Restores what a check may change, after it succeeds or fails."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from trimtab.distributed.sharding import own_part
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.tasks.examples import Checked
from trimtab.training.preflight.state_backup import backup, tensors_of

SMALL = 0.02
"""Standard deviation of the numbers that replace zeros."""


@contextmanager
def state_restored(parts: Checked) -> Iterator[None]:
    """Inside there are no gradients; afterwards gradients, modes and random numbers are what they were before."""
    modes = [(module, module.training) for module in parts.model.modules()]
    tensors = [*parts.model.parameters(), *parts.stepper.optimizer.parameters]
    gradients = [(tensor, tensor.grad) for tensor in tensors]
    on_gpu = parts.device.type == "cuda"
    drawn = torch.get_rng_state(), torch.cuda.get_rng_state(parts.device) if on_gpu else None
    try:
        for tensor in tensors:
            tensor.grad = None
        yield
    finally:
        if parts.sharding is not None:
            parts.sharding.reshard()
        for tensor, gradient in gradients:
            tensor.grad = gradient
        for module, training in modes:
            module.training = training
        torch.set_rng_state(drawn[0])
        if drawn[1] is not None:
            torch.cuda.set_rng_state(drawn[1], parts.device)


@contextmanager
def zeros_filled(parts: Checked) -> Iterator[None]:
    """Inside, weights that begin at zero and hide others from the gradient hold small numbers, as after some updates;
    afterwards they are zero again."""
    named = dict(parts.model.named_parameters())
    zeros = {name: named[name] for name in sorted(parts.model.begins_zero)}
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        held = {name: each.clone() for name, each in zeros.items()}
        for each in zeros.values():
            values = torch.randn(each.shape, generator=generator) * SMALL
            own_part(each).copy_(values if parts.sharding is None else parts.sharding.part_of(values))
    try:
        yield
    finally:
        with torch.no_grad():
            for name, each in zeros.items():
                each.copy_(held[name])


@contextmanager
def weights_put_back(parts: Checked) -> Iterator[dict[str, torch.Tensor]]:
    """Gives copies of the weights and buffers by name, as they are now; afterwards the model has them again."""
    tensors = tensors_of(parts.model)
    saved = backup(tensors)
    try:
        yield saved
    finally:
        with torch.no_grad():
            for name, tensor in tensors.items():
                tensor.copy_(saved[name])


def with_own_moments(parts: Checked) -> Optimizer:
    """A copy of the optimizer that moves the very same weights and keeps moments of its own."""
    weights = [*parts.model.parameters(), *parts.stepper.optimizer.parameters]
    return copy.deepcopy(parts.stepper.optimizer, {id(weight): weight for weight in weights})

"""Keeps a moving average of the weights beside them."""

import copy
from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from trimtab.config.step import Ema
from trimtab.step.optimizer.protocol import Optimizer

COUNT, PREFIX = "ema.updates", "ema.weights."
"""Names in the optimizer's state: how many updates there were, and before the name of each weight its average."""

Model = TypeVar("Model", bound=nn.Module)


class AveragedWeights:
    """Another optimizer, after whose every `every`-th update mean ← d · mean + (1 - d) · weights, where d is the decay.

    With the warm-up of the decay, d = min(decay, (1 + t) / (10 + t)) at the t-th refresh, from 1 (TensorFlow,
    `tf.train.ExponentialMovingAverage`, argument `num_updates`). The mean begins with the weights before the first
    update. Everything is computed on the device in fixed storage, and a skipped update leaves the mean as it is.
    Source: Polyak and Juditsky 1992 for the mean of weights; Tarvainen and Valpola, arXiv 1703.01780, for this one.
    """

    def __init__(self, inner: Optimizer, config: Ema, model: nn.Module) -> None:
        self.inner = inner
        self.config = config
        self.weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        self.means = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self.updates = torch.zeros((), dtype=torch.int64, device=inner.parameters[0].device)

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that it moves."""
        return self.inner.parameters

    @torch.no_grad()
    def update(self, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]) -> None:
        """The inner update, and the mean's."""
        self.inner.update(learning_rate=learning_rate, skip=skip)
        self.updates.add_(skip.logical_not())
        share = self.share(skip)
        for name, mean in self.means.items():
            # With a share of 0 this adds 0 times a difference; weights that an update damages are the guard's to
            # refuse.
            mean.lerp_(self.weights[name].detach(), share.to(mean.dtype))

    def share(self, skip: Bool[Tensor, ""]) -> Float[Tensor, ""]:
        """1 - d of this update, float64; 0 where the mean is left alone."""
        refresh = torch.div(self.updates, self.config.every, rounding_mode="floor")
        due = skip.logical_not() & (self.updates == refresh * self.config.every)
        t = refresh.double()
        decay = torch.full_like(t, self.config.decay)
        if self.config.warmup:
            decay = torch.minimum(decay, (1 + t) / (10 + t))
        return (1 - decay) * due

    def averaged_copy(self, model: Model) -> Model:
        """A copy of the model that is trained, with the means in the place of its weights."""
        averaged = copy.deepcopy(model)
        averaged.load_state_dict(with_means(model.state_dict(), self.state_tensors()))
        return averaged

    def state_tensors(self) -> dict[str, Tensor]:
        """The inner optimizer's, the count of updates and the means."""
        means = {PREFIX + name: mean for name, mean in self.means.items()}
        return {**self.inner.state_tensors(), COUNT: self.updates, **means}

    @torch.no_grad()
    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state, strict about names and shapes; from nothing the mean starts again, from the weights
        as they are now."""
        mine = {COUNT: self.updates, **{PREFIX + name: mean for name, mean in self.means.items()}}
        found = {name: tensor for name, tensor in saved.items() if name == COUNT or name.startswith(PREFIX)}
        if saved and found.keys() != mine.keys():
            raise KeyError(f"the averaged weights differ in {sorted(found.keys() ^ mine.keys())[:5]}")
        began = {PREFIX + name: weight for name, weight in self.weights.items()}
        source = found if saved else {COUNT: torch.zeros_like(self.updates), **began}
        for name, tensor in mine.items():
            if source[name].shape != tensor.shape:
                raise KeyError(f"{name} has shape {tuple(source[name].shape)}, not {tuple(tensor.shape)}")
            tensor.copy_(source[name])
        self.inner.load_state_tensors({name: saved[name] for name in saved if name not in mine})


def with_means(model: Mapping[str, Tensor], optimizer: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A model's tensors, those that are averaged replaced by what a saved optimizer state says of them; those that are
    not trained stay."""
    return {name: optimizer.get(PREFIX + name, tensor) for name, tensor in model.items()}


def has_means(optimizer: Mapping[str, object]) -> bool:
    """Whether a saved optimizer state, or the list of its names, holds averaged weights."""
    return COUNT in optimizer

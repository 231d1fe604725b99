"""Adafactor with an external learning rate: second moments by rows and columns, no first moment."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from trimtab.config.step import Adafactor as AdafactorConfig
from trimtab.step.groups import parameter_groups


class Adafactor:
    """Source: Shazeer and Stern, arXiv 1804.04235, algorithms 4 (matrices) and 5 (vectors), with the rate given from
    outside in place of section 8's relative step size."""

    def __init__(self, config: AdafactorConfig, model: nn.Module) -> None:
        self.config = config
        decayed, plain = parameter_groups(model)
        self.decay = {**dict.fromkeys(decayed, config.weight_decay), **dict.fromkeys(plain, 0.0)}
        self.named = {**decayed, **plain}
        self.step = torch.zeros((), device=next(iter(self.named.values())).device)
        self.moments = {name: zero_moments(parameter) for name, parameter in self.named.items()}

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that it moves."""
        return list(self.named.values())

    @torch.no_grad()
    def update(self, *, learning_rate: float, skip: Bool[Tensor, ""]) -> None:
        """One update; where `skip` is true every tensor keeps its value."""
        step = self.step + 1
        decay = 1 - step**-self.config.decay_exponent
        for name, parameter in self.named.items():
            if parameter.grad is None:
                continue
            moments = advance(self.moments[name], parameter.grad, decay=decay, eps=self.config.eps)
            change = parameter.grad * scale_of(moments)
            rms = change.square().mean().sqrt()
            change = change / (rms / self.config.clip_update).clamp(min=1.0)
            moved = parameter * (1 - learning_rate * self.decay[name]) - learning_rate * change
            parameter.copy_(torch.where(skip, parameter, moved))
            for old, new in zip(self.moments[name], moments, strict=True):
                old.copy_(torch.where(skip, old, new))
        self.step = torch.where(skip, self.step, step)

    def state_tensors(self) -> dict[str, Tensor]:
        """The step count, and row and column moments (or full ones, for vectors) by parameter name."""
        moments = {
            f"{name}.{i}": part for name, parts in self.moments.items() for i, part in enumerate(parts)
        }
        return {"step": self.step, **moments}

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state; strict about names and shapes."""
        mine = self.state_tensors()
        if not saved:
            return
        if set(saved) != set(mine):
            raise KeyError(f"optimizer state differs in {sorted(set(saved) ^ set(mine))[:5]}")
        for name, tensor in mine.items():
            if saved[name].shape != tensor.shape:
                raise KeyError(f"optimizer state {name} has shape {tuple(saved[name].shape)}")
            tensor.copy_(saved[name])


def zero_moments(parameter: Tensor) -> list[Tensor]:
    """Row and column means for a matrix, one full moment for anything else."""
    if parameter.ndim == 2:
        return [parameter.new_zeros(parameter.shape[0]), parameter.new_zeros(parameter.shape[1])]
    return [torch.zeros_like(parameter)]


def advance(moments: list[Tensor], gradient: Tensor, *, decay: Float[Tensor, ""], eps: float) -> list[Tensor]:
    """The moving averages after one more gradient."""
    square = gradient.square() + eps
    fresh = [square.mean(1), square.mean(0)] if len(moments) == 2 else [square]
    return [old * decay + new * (1 - decay) for old, new in zip(moments, fresh, strict=True)]


def scale_of(moments: list[Tensor]) -> Tensor:
    """One over the square root of the second moment, put together from rows and columns (equation 4)."""
    if len(moments) == 1:
        return moments[0].rsqrt()
    rows, columns = moments
    return (rows / rows.mean()).rsqrt()[:, None] * columns.rsqrt()[None, :]

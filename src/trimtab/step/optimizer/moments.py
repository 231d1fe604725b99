"""What optimizers written in plain tensor operations share: decay, the verdict, and state by name."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from trimtab.config.optimizers import Optimizer as Config
from trimtab.step.groups import parameter_groups
from trimtab.step.multipliers import RoleOf, multiplied, multipliers_of
from trimtab.step.optimizer.saved_state import copy_saved_state
from trimtab.step.optimizer.stochastic_rounding import store


class MomentOptimizer(ABC):
    """Moves each parameter by what `advance` says, with decoupled weight decay on matrices of linear maps: a share of
    the weight times the rate of its role, `learning_rate_multipliers` included. Weights in bfloat16 are moved in
    float32, in which their moments are, and stored by stochastic rounding."""

    def __init__(self, config: Config, model: nn.Module, *, role_of: RoleOf | None = None) -> None:
        decayed, plain = parameter_groups(model)
        self.decay = {**dict.fromkeys(decayed, config.weight_decay), **dict.fromkeys(plain, 0.0)}
        self.named = {**decayed, **plain}
        self.multipliers = multipliers_of(config.learning_rate_multipliers, self.named, role_of=role_of)
        self.step = torch.zeros((), device=next(iter(self.named.values())).device)
        # Of the parameter itself, which Muon knows by its identity.
        self.moments = {
            name: [widened(each) for each in self.zero_moments(parameter)]
            for name, parameter in self.named.items()
        }

    @abstractmethod
    def zero_moments(self, parameter: Tensor) -> list[Tensor]:
        """The state of one parameter before its first update."""

    @abstractmethod
    def advance(
        self, gradient: Tensor, moments: list[Tensor], *, step: Float[Tensor, ""]
    ) -> tuple[Tensor, list[Tensor], Float[Tensor, ""] | float]:
        """From the gradient and the moments before it: the change that the rate multiplies, the moments after it, and
        a factor for the rate of this one tensor (decay included). `step` counts this update, from 1."""

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that it moves now: not what is trained later."""
        return [each for each in self.named.values() if each.requires_grad]

    @torch.no_grad()
    def update(self, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]) -> None:
        """One update; where `skip` is true every tensor keeps its value."""
        step = self.step + 1
        rates = {each: multiplied(learning_rate, each) for each in set(self.multipliers.values())}
        for name, parameter in self.named.items():
            if parameter.grad is not None:
                self.move(name, step=step, rate=rates[self.multipliers[name]], skip=skip)
        self.after_update(skip=skip)

    @torch.no_grad()
    def update_tensor(
        self, name: str, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]
    ) -> None:
        """The update of one tensor, whose gradient lies on it."""
        rate = multiplied(learning_rate, self.multipliers[name])
        self.move(name, step=self.step + 1, rate=rate, skip=skip)

    @torch.no_grad()
    def after_update(self, *, skip: Bool[Tensor, ""]) -> None:
        """Counts the update, unless it was skipped."""
        self.step.copy_(torch.where(skip, self.step, self.step + 1))

    def move(
        self,
        name: str,
        *,
        step: Float[Tensor, ""],
        rate: float | Float[Tensor, ""],
        skip: Bool[Tensor, ""],
    ) -> None:
        """One tensor and its moments, unless the update is skipped."""
        parameter = self.named[name]
        assert parameter.grad is not None, name
        wide, gradient = widened(parameter), parameter.grad.to(self.moments[name][0].dtype)
        change, moments, factor = self.advance(gradient, self.moments[name], step=step)
        rate = rate * factor
        moved = wide * (1 - rate * self.decay[name]) - rate * change
        if parameter.dtype == torch.bfloat16:
            store(parameter, torch.where(skip, wide, moved))
        else:
            parameter.copy_(torch.where(skip, parameter, moved))
        for old, new in zip(self.moments[name], moments, strict=True):
            old.copy_(torch.where(skip, old, new))

    def state_tensors(self) -> dict[str, Tensor]:
        """The step count, and the moments by parameter name and number."""
        moments = {
            f"{name}.{i}": part for name, parts in self.moments.items() for i, part in enumerate(parts)
        }
        return {"step": self.step, **moments}

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state; strict about names and shapes."""
        copy_saved_state(self.state_tensors(), saved)


def widened(parameter: Tensor) -> Tensor:
    """A weight in the precision of its update: float32 in place of bfloat16."""
    return parameter.float() if parameter.dtype == torch.bfloat16 else parameter

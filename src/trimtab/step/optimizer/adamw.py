"""AdamW through PyTorch's fused kernel, with the verdict handed to the kernel."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from trimtab.config.optimizers import AdamW as AdamWConfig
from trimtab.step.groups import parameter_groups
from trimtab.step.multipliers import RoleOf, multiplied, multipliers_of, names_by_multiplier


class Group(NamedTuple):
    """Weights that are moved alike."""

    names: Sequence[str]
    weight_decay: float
    multiplier: float
    """Of the learning rate."""


class AdamW:
    """Source: Loshchilov and Hutter, arXiv 1711.05101, algorithm 2. The kernel is that of
    `torch.optim.AdamW(fused=True)`, called by itself: the class imports PyTorch's compiler, which takes as long as all
    the rest of PyTorch.

    What is taken off by weight decay is multiplied as the rate is (`learning_rate_multipliers`), as with `lr` by group
    in PyTorch.
    """

    def __init__(self, config: AdamWConfig, model: nn.Module, *, role_of: RoleOf | None = None) -> None:
        decayed, plain = parameter_groups(model)
        self.config = config
        self.named = {**decayed, **plain}
        self.state: dict[str, dict[str, Tensor]] = {}
        """Step count and moments of each weight that was moved once."""
        multipliers = multipliers_of(config.learning_rate_multipliers, self.named, role_of=role_of)
        self.groups = [
            Group(names, decay, multiplier)
            for some, decay in ((decayed, config.weight_decay), (plain, 0.0))
            for multiplier, names in names_by_multiplier(some, multipliers).items()
        ]

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that it moves now: not what is trained later."""
        return [each for each in self.named.values() if each.requires_grad]

    @torch.no_grad()
    def update(self, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]) -> None:
        """One update; where `skip` is true the kernel writes nothing and the step count stays."""
        found_inf = skip.to(torch.float32)
        for group in self.groups:
            rate = multiplied(learning_rate, group.multiplier)
            if isinstance(rate, Tensor) and rate.is_cuda:
                rate = rate.float()  # which the kernel reads
            alike: dict[tuple[torch.device, torch.dtype], list[str]] = {}
            for name in group.names:
                parameter = self.named[name]
                if parameter.grad is not None:
                    alike.setdefault((parameter.device, parameter.dtype), []).append(name)
            for names in alike.values():
                self._move(names, rate, found_inf=found_inf, weight_decay=group.weight_decay)

    def _move(
        self, names: Sequence[str], rate: float | Tensor, *, found_inf: Tensor, weight_decay: float
    ) -> None:
        """Updates weights of one device and precision. `found_inf`, which the kernel takes for gradient scalers, skips
        the update on the device, without a synchronization."""
        parameters = [self.named[name] for name in names]
        states = [self._state_of(name) for name in names]
        steps = [state["step"] for state in states]
        torch._foreach_add_(steps, 1)
        torch._fused_adamw_(
            parameters,
            [parameter.grad for parameter in parameters],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            steps,
            lr=rate,
            beta1=self.config.betas[0],
            beta2=self.config.betas[1],
            weight_decay=weight_decay,
            eps=self.config.eps,
            amsgrad=False,
            maximize=False,
            grad_scale=None,
            found_inf=found_inf,
        )
        torch._foreach_sub_(steps, [found_inf] * len(steps))

    def _state_of(self, name: str) -> dict[str, Tensor]:
        """Zeros before its first update."""
        if name not in self.state:
            parameter = self.named[name]
            self.state[name] = {
                "step": torch.zeros((), dtype=torch.float32, device=parameter.device),
                "exp_avg": torch.zeros_like(parameter, memory_format=torch.preserve_format),
                "exp_avg_sq": torch.zeros_like(parameter, memory_format=torch.preserve_format),
            }
        return self.state[name]

    def state_tensors(self) -> dict[str, Tensor]:
        """Moments and step counts by parameter name."""
        return {
            f"{name}.{key}": value for name in self.named for key, value in self.state.get(name, {}).items()
        }

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state; strict about names and shapes. Weights that are trained later have none."""
        now = {name: each for name, each in self.named.items() if each.requires_grad}
        wanted = {f"{name}.{key}" for name in now for key in ("step", "exp_avg", "exp_avg_sq")}
        if saved and set(saved) != wanted:
            raise KeyError(f"optimizer state differs in {sorted(set(saved) ^ wanted)[:5]}")
        for name in self.named.keys() - now.keys():
            self.state.pop(name, None)  # of a run that goes back to where they were not trained yet
        for name, parameter in now.items() if saved else ():
            shapes = {"step": torch.Size([]), "exp_avg": parameter.shape, "exp_avg_sq": parameter.shape}
            state = {key: saved[f"{name}.{key}"].to(parameter.device) for key in shapes}
            for key, shape in shapes.items():
                if state[key].shape != shape:
                    raise KeyError(f"optimizer state {name}.{key} has shape {tuple(state[key].shape)}")
            mine = self.state.setdefault(name, {})
            for key, tensor in state.items():
                mine[key] = mine[key].copy_(tensor) if key in mine else tensor

"""AdamW through PyTorch's fused kernel, with the verdict handed to the kernel."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from trimtab.config.optimizers import AdamW as AdamWConfig
from trimtab.step.groups import parameter_groups
from trimtab.step.multipliers import RoleOf, multiplied, multipliers_of, names_by_multiplier


class AdamW:
    """Source: Loshchilov and Hutter, arXiv 1711.05101, algorithm 2; the kernel is `torch.optim.AdamW(fused=True)`.

    What is taken off by weight decay is multiplied as the rate is (`learning_rate_multipliers`), as with `lr` by group
    in PyTorch.
    """

    def __init__(self, config: AdamWConfig, model: nn.Module, *, role_of: RoleOf | None = None) -> None:
        decayed, plain = parameter_groups(model)
        self.named = {**decayed, **plain}
        multipliers = multipliers_of(config.learning_rate_multipliers, self.named, role_of=role_of)
        groups = [
            {"params": [self.named[name] for name in names], "weight_decay": decay, "multiplier": multiplier}
            for some, decay in ((decayed, config.weight_decay), (plain, 0.0))
            for multiplier, names in names_by_multiplier(some, multipliers).items()
        ]
        self.inner = torch.optim.AdamW(
            groups,
            lr=0.0,
            betas=config.betas,
            eps=config.eps,
            fused=True,
            capturable=all(parameter.is_cuda for parameter in self.named.values()),
        )

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that it moves now: not what is trained later."""
        return [each for each in self.named.values() if each.requires_grad]

    @torch.no_grad()
    def update(self, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]) -> None:
        """One update; where `skip` is true the kernel writes nothing and the step count stays."""
        on_gpu = (
            isinstance(learning_rate, Tensor) and learning_rate.is_cuda
        )  # where the kernel reads a float32
        for group in self.inner.param_groups:
            rate = multiplied(learning_rate, group["multiplier"])
            group["lr"] = rate.float() if on_gpu else rate
        # The fused kernel's own door for gradient scalers: a device scalar that selects, without waiting for it.
        self.inner.grad_scale, self.inner.found_inf = None, skip.to(torch.float32)
        # It may be recorded, and first runs plainly, which torch would warn of; the fused kernel is the same in both.
        # Here, as copies of an optimizer forget it.
        self.inner._warned_capturable_if_run_uncaptured = True
        self.inner.step()

    def state_tensors(self) -> dict[str, Tensor]:
        """Moments and step counts by parameter name."""
        return {
            f"{name}.{key}": value
            for name, parameter in self.named.items()
            for key, value in self.inner.state.get(parameter, {}).items()
        }

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state; strict about names and shapes. Weights that are trained later have none."""
        now = {name: each for name, each in self.named.items() if each.requires_grad}
        wanted = {f"{name}.{key}" for name in now for key in ("step", "exp_avg", "exp_avg_sq")}
        if saved and set(saved) != wanted:
            raise KeyError(f"optimizer state differs in {sorted(set(saved) ^ wanted)[:5]}")
        for name in self.named.keys() - now.keys():
            self.inner.state.pop(
                self.named[name], None
            )  # of a run that goes back to where they were not trained yet
        for name, parameter in now.items() if saved else ():
            shapes = {"step": torch.Size([]), "exp_avg": parameter.shape, "exp_avg_sq": parameter.shape}
            state = {key: saved[f"{name}.{key}"].to(parameter.device) for key in shapes}
            for key, shape in shapes.items():
                if state[key].shape != shape:
                    raise KeyError(f"optimizer state {name}.{key} has shape {tuple(state[key].shape)}")
            mine = self.inner.state[parameter]
            for key, tensor in state.items():
                mine[key] = mine[key].copy_(tensor) if key in mine else tensor

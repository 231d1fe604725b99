"""AdamW through PyTorch's fused kernel, with the verdict handed to the kernel."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from trimtab.config.step import AdamW as AdamWConfig
from trimtab.step.groups import parameter_groups


class AdamW:
    """Source: Loshchilov and Hutter, arXiv 1711.05101, algorithm 2; the kernel is `torch.optim.AdamW(fused=True)`."""

    def __init__(self, config: AdamWConfig, model: nn.Module) -> None:
        decayed, plain = parameter_groups(model)
        self.named = {**decayed, **plain}
        groups = [
            {"params": list(decayed.values()), "weight_decay": config.weight_decay},
            {"params": list(plain.values()), "weight_decay": 0.0},
        ]
        groups = [group for group in groups if group["params"]]
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
        """All that it moves."""
        return list(self.named.values())

    @torch.no_grad()
    def update(self, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]) -> None:
        """One update; where `skip` is true the kernel writes nothing and the step count stays."""
        on_gpu = (
            isinstance(learning_rate, Tensor) and learning_rate.is_cuda
        )  # where the kernel reads a float32
        for group in self.inner.param_groups:
            group["lr"] = learning_rate.float() if on_gpu else learning_rate
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
        """Goes on from saved state; strict about names and shapes."""
        wanted = {f"{name}.{key}" for name in self.named for key in ("step", "exp_avg", "exp_avg_sq")}
        if saved and set(saved) != wanted:
            raise KeyError(f"optimizer state differs in {sorted(set(saved) ^ wanted)[:5]}")
        for name, parameter in self.named.items() if saved else ():
            state = {
                key: saved[f"{name}.{key}"].to(parameter.device) for key in ("step", "exp_avg", "exp_avg_sq")
            }
            if state["exp_avg"].shape != parameter.shape:
                raise KeyError(f"optimizer state of {name} has shape {tuple(state['exp_avg'].shape)}")
            mine = self.inner.state[parameter]
            for key, tensor in state.items():
                mine[key] = mine[key].copy_(tensor) if key in mine else tensor

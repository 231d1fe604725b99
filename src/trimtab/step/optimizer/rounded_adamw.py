"""AdamW on weights in bfloat16: computed in float32 by PyTorch's fused kernel, stored by stochastic rounding."""

from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.optim.adamw import adamw

from trimtab.config.optimizers import AdamW as AdamWConfig
from trimtab.step.groups import parameter_groups
from trimtab.step.multipliers import RoleOf, multiplied, multipliers_of, names_by_multiplier
from trimtab.step.optimizer.saved_state import copy_saved_state
from trimtab.step.optimizer.stochastic_rounding import store

WEIGHTS_AT_ONCE = 1 << 25
"""So many weights and gradients have copies in float32 at a time, or those of one tensor where that is larger."""


class RoundedAdamW:
    """Source: Loshchilov and Hutter, arXiv 1711.05101, algorithm 2, with the weights stored as in arXiv 2502.20566.

    Moments are float32: a bfloat16 cannot decay by 2% at a time. Weights in float32 are moved exactly as by `AdamW`,
    and the state has the same names, so that either continues from the other's. Bytes for each weight in bfloat16: 2,
    and 2 of its gradient, and 8 of moments, where float32 has 4, 4 and 8."""

    def __init__(
        self,
        config: AdamWConfig,
        model: nn.Module,
        *,
        role_of: RoleOf | None = None,
        keep: Callable[[dict[str, Tensor]], dict[str, Tensor]] | None = None,
    ) -> None:
        """`keep` moves the state of each tensor as soon as it is made."""
        decayed, plain = parameter_groups(model)
        self.config, self.named = config, {**decayed, **plain}
        multipliers = multipliers_of(config.learning_rate_multipliers, self.named, role_of=role_of)
        self.slices = [
            (some, decay, multiplier)
            for group, decay in ((decayed, config.weight_decay), (plain, 0.0))
            for multiplier, names in names_by_multiplier(group, multipliers).items()
            for some in in_slices({name: group[name] for name in names})
        ]
        self.rates = {name: (decay, multiplier) for names, decay, multiplier in self.slices for name in names}
        self.state: dict[str, dict[str, Tensor]] = {}
        for name, parameter in self.named.items():
            state = {
                "step": torch.zeros((), device=parameter.device),
                "exp_avg": torch.zeros_like(parameter, dtype=torch.float32),
                "exp_avg_sq": torch.zeros_like(parameter, dtype=torch.float32),
            }
            self.state[name] = state if keep is None else keep(state)

    @property
    def parameters(self) -> Sequence[Tensor]:
        """All that it moves."""
        return list(self.named.values())

    @torch.no_grad()
    def update(self, *, learning_rate: float | Float[Tensor, ""], skip: Bool[Tensor, ""]) -> None:
        """One update; where `skip` is true every tensor keeps its bits, and the step count stays.

        Weights in bfloat16 use as many random numbers of PyTorch's own generator either way.
        """
        found_inf = skip.to(torch.float32)
        for names, decay, multiplier in self.slices:
            moved = [name for name in names if self.named[name].grad is not None]
            if moved:
                rate = rate_of_kernel(learning_rate, multiplier)
                self.advance(moved, rate=rate, decay=decay, found_inf=found_inf)

    @torch.no_grad()
    def update_tensor(self, name: str, *, learning_rate: float | Tensor, skip: Bool[Tensor, ""]) -> None:
        """The update of one tensor, whose gradient lies on it."""
        decay, multiplier = self.rates[name]
        rate = rate_of_kernel(learning_rate, multiplier)
        self.advance([name], rate=rate, decay=decay, found_inf=skip.to(torch.float32))

    def after_update(self, *, skip: Bool[Tensor, ""]) -> None:
        """Nothing: each tensor counts its own updates."""

    def advance(
        self, names: list[str], *, rate: float | Tensor, decay: float, found_inf: Float[Tensor, ""]
    ) -> None:
        """Some of the weights, through copies in float32 where they are not."""
        places = [self.named[name] for name in names]
        wide = [place.detach().float() for place in places]
        state = {key: [self.state[name][key] for name in names] for key in ("exp_avg", "exp_avg_sq", "step")}
        adamw(
            wide,
            [place.grad.float() for place in places if place.grad is not None],
            state["exp_avg"],
            state["exp_avg_sq"],
            [],
            state["step"],
            fused=True,
            capturable=places[0].is_cuda,
            found_inf=found_inf,  # type: ignore[arg-type]
            amsgrad=False,
            beta1=self.config.betas[0],
            beta2=self.config.betas[1],
            lr=rate,
            weight_decay=decay,
            eps=self.config.eps,
            maximize=False,
        )
        for place, values in zip(places, wide, strict=True):
            if place.dtype != torch.float32:  # else it was moved in its place
                store(place, values)

    def state_tensors(self) -> dict[str, Tensor]:
        """Moments and step counts by parameter name."""
        return {f"{name}.{key}": value for name, state in self.state.items() for key, value in state.items()}

    def load_state_tensors(self, saved: dict[str, Tensor]) -> None:
        """Goes on from saved state, in the same storage; strict about names and shapes."""
        copy_saved_state(self.state_tensors(), saved)


def rate_of_kernel(rate: float | Tensor, multiplier: float) -> float | Tensor:
    """The rate of a group as the fused kernel reads it: in float32 on a GPU."""
    rate = multiplied(rate, multiplier)
    return rate.float() if isinstance(rate, Tensor) and rate.is_cuda else rate


def in_slices(group: dict[str, nn.Parameter], *, largest: int = WEIGHTS_AT_ONCE) -> Iterator[list[str]]:
    """The names of a group in their order, cut where more weights than that would come together."""
    names: list[str] = []
    size = 0
    for name, parameter in group.items():
        if names and size + parameter.numel() > largest:
            yield names
            names, size = [], 0
        names.append(name)
        size += parameter.numel()
    if names:
        yield names

"""Checks that weight decay applies to the matrices of linear maps, convolutions among them, and nothing else."""

from collections.abc import Iterator

import torch
from torch import nn

from trimtab.finding import Finding
from trimtab.model.experts import MixtureOfExperts
from trimtab.run_findings.preflight import DECAY_ON_OTHER_WEIGHTS
from trimtab.tasks.examples import Checked
from trimtab.training.preflight.restored_weights import weights_put_back, with_own_moments
from trimtab.training.preflight.state_backup import backup
from trimtab.training.preflight.weights import named

MOST = 0.5
"""Share of a weight that is taken off in the check."""
LINEAR = (nn.Linear, nn.Conv1d, nn.Conv2d)
LOST_IN_ROUNDING = 1e-5
"""A smaller share is too small to be looked at in float32."""


def decay_where_it_belongs(parts: Checked) -> Iterator[Finding]:
    """One update from gradients of zero, which moves only what is decayed."""
    decay = parts.recipe.step.optimizer.weight_decay
    linear = {f"{name}.weight" for name, each in parts.model.named_modules() if isinstance(each, LINEAR)}
    experts = [name for name, each in parts.model.named_modules() if isinstance(each, MixtureOfExperts)]
    linear |= {f"{name}.{matrix}" for name in experts for matrix in ("up", "down")}
    multipliers = {name: each for name, each in parts.learning_rate.multipliers.items() if name in linear}
    rate = (min(1.0, MOST / decay) if decay else 1.0) / max(multipliers.values())
    shares = {name: rate * decay * multiplier for name, multiplier in multipliers.items()}
    taken = shares_taken(parts, rate=rate)
    wrongly = sorted(
        name for name, share in taken.items() if (name not in linear or not decay) and share != 0
    )
    lacking = sorted(
        name
        for name, share in shares.items()
        if name in taken and share > LOST_IN_ROUNDING and not taken[name] >= share / 2
    )
    said = [f"takes from {named(wrongly)}"] if wrongly else []
    if lacking:
        said.append(f"takes nothing from {named(lacking)}")
    if said:
        yield DECAY_ON_OTHER_WEIGHTS.found(f"weight decay ({decay:g}) {' and '.join(said)}")


@torch.no_grad()
def shares_taken(parts: Checked, *, rate: float) -> dict[str, float]:
    """How much of each trained tensor an update takes whose gradient is zero; biases, which begin at zero, are set to
    one before."""
    weights = {name: weight for name, weight in parts.model.named_parameters() if weight.requires_grad}
    with weights_put_back(parts) as saved:
        optimizer = with_own_moments(parts)
        for weight in weights.values():
            if weight.ndim < 2:
                weight.fill_(1.0)
            weight.grad = torch.zeros_like(weight)
        before = saved | backup({name: weight for name, weight in weights.items() if weight.ndim < 2})
        optimizer.update(learning_rate=rate, skip=torch.zeros((), dtype=torch.bool, device=parts.device))
        return {
            name: float((before[name] - weight.to(before[name].device)).norm() / before[name].norm())
            for name, weight in weights.items()
        }

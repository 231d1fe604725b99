"""Learning rates of single weights, as multiples of the rate of a step."""

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

from jaxtyping import Float
from torch import Tensor

from trimtab.config.optimizers import LearningRateMultipliers, Role
from trimtab.errors import input_error

RoleOf = Callable[[str], Role]
"""Says of a parameter, by its name, what it is for."""
OF_LAYER = re.compile(r"(^|\.)(?:blocks|layers|layer|h)\.(\d+)\.")
"""A layer's number in the name of its parameters, here and in transformers' models."""
Rate = TypeVar("Rate", float, Float[Tensor, ""], float | Float[Tensor, ""])


def multipliers_of(
    config: LearningRateMultipliers, names: Iterable[str], *, role_of: RoleOf | None
) -> dict[str, float]:
    """By the name of each parameter, what the learning rate is multiplied by for it.

    Raises InputError if they are not all 1 and nobody says what each parameter is for, and for a pattern that fits no
    name.
    """
    if config == LearningRateMultipliers():
        return dict.fromkeys(names, 1.0)
    if role_of is None:
        raise input_error(
            "learning_rate_multipliers: the roles of the parameters are unknown",
            allowed="multipliers of 1, or a function from a parameter's name to its role",
            fix="give build_optimizer a `role_of`, which answers embedding, hidden, output or vector",
        )
    names = list(names)
    depths = {name: int(found[2]) for name in names if (found := OF_LAYER.search(name))}
    last = max(depths.values(), default=-1)
    for pattern in config.names:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise input_error(
                "learning_rate_multipliers.names: no weight of the model has such a name",
                got=pattern,
                allowed=", ".join(names[:4]) + ", ...",
                fix=f"write one of them, or a pattern such as `{names[-1].rpartition('.')[0] or names[-1]}*`",
            )
    factors: dict[str, float] = {}
    for name in names:
        role = role_of(name)
        # Tables lie below all layers; what is outside of the layers otherwise, behind them.
        depth = depths.get(name, -1 if role == "embedding" else last)
        of_group = [factor for pattern, factor in config.names.items() if fnmatchcase(name, pattern)]
        factors[name] = getattr(config, role) * config.layer_decay ** (last - depth) * [1.0, *of_group][-1]
    return factors


def names_by_multiplier(names: Iterable[str], multipliers: Mapping[str, float]) -> dict[float, list[str]]:
    """The names of each multiplier, in their order."""
    found: dict[float, list[str]] = {}
    for name in names:
        found.setdefault(multipliers[name], []).append(name)
    return found


def multiplied(rate: Rate, multiplier: float) -> Rate:
    """The rate of a group, on the device where the step's rate is there; a multiplier of 1 costs nothing."""
    return rate if multiplier == 1 else rate * multiplier

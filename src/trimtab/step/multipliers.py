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
OF_LAYER = re.compile(r"(?:^|\.)(?:blocks|block|layers|layer|h)\.(\d+)\.")
"""A layer's number in the name of its parameters, here and in transformers' models; in T5's the first of two, the other
being that of a sub-layer."""
OF_TABLES = re.compile(r"embed", re.IGNORECASE)
"""Tables and what is between them and the first layer, such as BERT's `embeddings.LayerNorm`."""
OF_HEADS = re.compile(
    r"(?:^|[._])(?:(?:class|bbox|box|mask)_(?:embed|predictor)|head|classifier)(?:\.|$)", re.IGNORECASE
)
"""Modules that predict. Detectors call some of them embeddings (`class_embed`), and number their linear maps as layers
(`bbox_embed.0.layers.1`)."""
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
    for pattern in config.names:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise input_error(
                "learning_rate_multipliers.names: no weight of the model has such a name",
                got=pattern,
                allowed=", ".join(names[:4]) + ", ...",
                fix=f"write one of them, or a pattern such as `{names[-1].rpartition('.')[0] or names[-1]}*`",
            )
    roles: dict[str, Role] = {name: role_of(name) for name in names}
    layers = layers_above(roles)
    factors: dict[str, float] = {}
    for name, role in roles.items():
        of_group = [factor for pattern, factor in config.names.items() if fnmatchcase(name, pattern)]
        factors[name] = getattr(config, role) * config.layer_decay ** layers[name] * [1.0, *of_group][-1]
    return factors


def layers_above(roles: Mapping[str, Role]) -> dict[str, int]:
    """How many layers of its stack lie above each parameter. Embeddings lie below all layers of the deepest stack; what
    is outside of the layers otherwise lies above them, such as a last norm or a head."""
    heads = {name for name in roles if _is_of_head(name)}
    found = {name: layer for name in roles if name not in heads and (layer := OF_LAYER.search(name))}
    tops: dict[str, int] = {}
    for name, layer in found.items():
        stack = name[: layer.start(1)]
        tops[stack] = max(tops.get(stack, 0), int(layer[1]))
    below = max(tops.values(), default=-1) + 1
    above: dict[str, int] = {}
    for name, role in roles.items():
        if (layer := found.get(name)) is not None:
            above[name] = tops[name[: layer.start(1)]] - int(layer[1])
        else:
            lower = role == "embedding" or (role != "output" and OF_TABLES.search(name) is not None)
            above[name] = below if lower and name not in heads else 0
    return above


def _is_of_head(name: str) -> bool:
    """Whether a module that predicts holds this parameter, outside of every layer."""
    head, layer = OF_HEADS.search(name), OF_LAYER.search(name)
    return head is not None and (layer is None or head.start() < layer.start())


def names_by_multiplier(names: Iterable[str], multipliers: Mapping[str, float]) -> dict[float, list[str]]:
    """The names of each multiplier, in their order."""
    found: dict[float, list[str]] = {}
    for name in names:
        found.setdefault(multipliers[name], []).append(name)
    return found


def multiplied(rate: Rate, multiplier: float) -> Rate:
    """The rate of a group, on the device where the step's rate is there; a multiplier of 1 costs nothing."""
    return rate if multiplier == 1 else rate * multiplier

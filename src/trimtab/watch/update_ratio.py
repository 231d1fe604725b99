"""How far one step moves each matrix, measured against its own size, on a sample of its elements."""

import math
from collections import deque
from collections.abc import Mapping
from itertools import islice
from statistics import median

import torch
from jaxtyping import Float
from torch import Tensor

from trimtab.finding import Finding
from trimtab.run_findings.steps import UPDATES_TOO_LARGE, UPDATES_TOO_SMALL

SAMPLED = 4096
"""Elements of each tensor that are looked at."""
SMALLEST, LARGEST = 1e-5, 1e-1
"""Per step; healthy runs lie between 4e-4 and 4e-2 (tests/watch/healthy.json)."""
KEPT = 8
"""Newest measurements; a tensor is judged by their median, so that a step which is unlike the others does not count."""
FEWEST = 3
"""Measurements without which nothing is said."""


class UpdateRatios:
    """‖ΔW‖ / ‖W‖ of steps now and then. Nothing here waits for the device before `medians`.

    Vectors are left out: gains, biases and whatever begins at zero move by any ratio at first.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = {name: each for name, each in tensors.items() if each.ndim >= 2}
        self.kept: list[Tensor] | None = None
        self.measured: deque[Float[Tensor, "tensors"]] = deque(maxlen=KEPT)

    def before(self) -> None:
        """Keeps the sample as it is before a step."""
        self.kept = [sampled(each).clone() for each in self.tensors.values()]

    def after(self, *, applied: Tensor) -> None:
        """Compares with what was kept; where the step was not applied (0), it is no measurement."""
        if self.kept and self.tensors:
            ratios = moved([sampled(each) for each in self.tensors.values()], self.kept)
            self.measured.append(torch.where(applied > 0, ratios, torch.nan))
        self.kept = None

    def medians(self) -> dict[str, float]:
        """The median of the newest measurements by name; empty before there are enough."""
        if len(self.measured) < FEWEST:
            return {}
        columns = zip(*torch.stack([*self.measured]).tolist(), strict=True)
        found: dict[str, float] = {}
        for name, column in zip(self.tensors, columns, strict=True):
            real = [each for each in column if not math.isnan(each)]
            if len(real) >= FEWEST:
                found[name] = median(real)
        return found


def sampled(tensor: Tensor) -> Float[Tensor, "elements"]:
    """At most SAMPLED elements, evenly spread, by a step that is odd so that it falls into every column."""
    flat = tensor.detach().flatten()
    step = max(1, -(-len(flat) // SAMPLED))
    return flat[:: step | 1]


def moved(after: list[Tensor], before: list[Tensor]) -> Float[Tensor, "tensors"]:
    """‖after - before‖ / ‖before‖ of each pair; NaN where there is nothing to compare with."""
    sizes = torch.stack(torch._foreach_norm(before)).float()
    changes = torch.stack(torch._foreach_norm(torch._foreach_sub(after, before))).float()
    return torch.where(sizes > 0, changes / sizes, torch.nan)


def out_of_range(
    ratios: Mapping[str, float],
    *,
    lookups: frozenset[str] = frozenset(),
    multipliers: Mapping[str, float] | None = None,
) -> list[Finding]:
    """S920 of the tensors that hardly move, S921 of those that move too far; `lookups` are embeddings, whose rows rest
    where their token is not read. `multipliers` are those of the learning rate by name: what is slowed down on purpose
    may move by as much less, while a step that is too long is so whatever made it long."""
    times = multipliers or {}
    slow = {
        name: each
        for name, each in ratios.items()
        if each < SMALLEST * min(1.0, times.get(name, 1.0)) and name not in lookups
    }
    fast = {name: each for name, each in ratios.items() if each > LARGEST}
    found: list[Finding] = []
    if slow:
        found.append(
            UPDATES_TOO_SMALL.found(
                f"a step moves {count_of(slow, ratios)} by less than {SMALLEST:g} of their size"
                f"{beside(slow, times)}: {lowest(slow)}"
            )
        )
    if fast:
        found.append(
            UPDATES_TOO_LARGE.found(
                f"a step moves {count_of(fast, ratios)} by more than {LARGEST:g} of their size"
                f"{beside(fast, times)}: {highest(fast)}"
            )
        )
    return found


def count_of(some: Mapping[str, float], ratios: Mapping[str, float]) -> str:
    """How many of how many."""
    return f"{len(some)} of {len(ratios)} matrices"


def beside(some: Mapping[str, float], multipliers: Mapping[str, float]) -> str:
    """Which multipliers of the learning rate these tensors have, where there are others than 1."""
    had = sorted({multipliers.get(name, 1.0) for name in some} - {1.0})
    return f" (learning_rate_multipliers of {', '.join(f'{each:g}' for each in had)})" if had else ""


def lowest(ratios: Mapping[str, float], *, most: int = 4) -> str:
    """The smallest ratios with their names."""
    return ", ".join(
        f"{name} {value:.2g}" for name, value in islice(sorted(ratios.items(), key=_value), most)
    )


def highest(ratios: Mapping[str, float], *, most: int = 4) -> str:
    """The largest ratios with their names."""
    return ", ".join(
        f"{name} {value:.2g}" for name, value in islice(sorted(ratios.items(), key=_value)[::-1], most)
    )


def _value(pair: tuple[str, float]) -> float:
    return pair[1]

"""The numbers of a step that several ranks take together: each rank gives its own, all judge the same."""

import math
from collections.abc import Sequence
from typing import Any

from trimtab.arguments import wrong
from trimtab.errors import input_error
from trimtab.world import WhichRanks, group_of


def number_of(value: Any, *, name: str) -> float:
    """A loss or a norm as a float, which holds on to no graph; a sharded tensor is put together first."""
    for method in ("detach", "full_tensor"):
        if (method_of := getattr(value, method, None)) is not None:
            value = method_of()
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError):
        number = None
    if number is None or isinstance(value, str | bytes | bool):
        raise wrong(
            f"Guard.judge: {name}",
            "is no number",
            got=value,
            allowed="a float, or a tensor with one number",
            fix="pass the mean loss of the step, and the norm that torch.nn.utils.clip_grad_norm_ returns",
        )
    if name == "grad_norm" and -math.inf < number < 0:
        raise wrong(
            "Guard.judge: grad_norm",
            "is negative",
            got=number,
            allowed="the norm of the gradient before clipping, 0 or more",
            fix="pass the loss first and the norm second",
        )
    return number


def whole_step(loss: float, grad_norm: float, *, memory: int, ranks: WhichRanks) -> tuple[float, float]:
    """Loss and norm of the step over all ranks, equal to the last bit on each of them.

    `memory` is equal for guards that would judge the same; InputError where it is not, since ranks with different
    verdicts would have different weights from then on.
    """
    group = group_of(ranks, part="Guard.judge")
    if group is None:
        return loss, grad_norm
    rows = group.gathered([loss, grad_norm, memory], part="Guard.judge")
    losses, norms, memories = (list(column) for column in zip(*rows, strict=True))
    if len(set(memories)) > 1:
        raise input_error(
            "Guard.judge: the guards of the ranks have different settings, or remember different steps",
            got=f"on rank {group.rank}, others than on "
            + " and ".join(str(rank) for rank, each in enumerate(memories) if each != memory),
            allowed="one rule, and one state on every rank",
            fix="build the guard in the same way on every rank, load the same state on each (Guard.from_dict), and "
            "call judge on all of them in every step",
        )
    return mean(losses), norm_of_parts(norms)


def mean(values: Sequence[float]) -> float:
    """The mean; the value itself where all have it."""
    return values[0] if len(set(values)) == 1 else sum(values) / len(values)


def norm_of_parts(norms: Sequence[float]) -> float:
    """The norm itself where all ranks have it, as after gradients were averaged; else that of all parts together, for
    ranks that hold one part each, divided by the root of their number, which no bound of the guard depends on."""
    if any(math.isnan(norm) for norm in norms):
        return math.nan
    return norms[0] if len(set(norms)) == 1 else math.hypot(*norms) / math.sqrt(len(norms))

"""Which weights move: tensors that never change, and updates that are lost to rounding."""

from collections.abc import Collection, Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.arguments import instance_of, real_number, wrong
from trimtab.finding import Finding
from trimtab.run_findings.evaluations import WEIGHTS_NEVER_MOVE
from trimtab.run_findings.steps import UPDATES_ROUND_AWAY

MOST_LOST = 0.2
"""Share of the elements of updates that may be lost to rounding."""
_CHUNK = 1 << 20
"""Elements that are looked at together, so that little memory is taken."""
_FACTOR = 0x9E3779B97F4A7C1
"""Scatters the places over all bits."""
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def mark(tensor: Tensor) -> int:
    """A number that changes when an element does: the sum, modulo 2^64, of the bits of each as a whole number times an
    odd number that belongs to its place.

    Cheap enough to be taken of every parameter at each evaluation. Changes of several elements would have to cancel
    each other out with their places' factors, which no update does.
    """
    flat = tensor.detach().contiguous().flatten()
    bits = flat.view(_BITS[flat.element_size()])
    total = 0
    for start in range(0, len(bits), _CHUNK):
        part = bits[start : start + _CHUNK].to(torch.int64)
        places = torch.arange(start, start + len(part), device=part.device) * _FACTOR
        total += int((part * (2 * places + 1)).sum())
    return total % 2**64


def marks(model: nn.Module, *, only: Collection[str] | None = None) -> dict[str, int]:
    """The marks of all trainable parameters by name, or of those that are named."""
    instance_of(model, nn.Module, name="marks: model", allowed="an nn.Module", fix="pass the model itself")
    return {
        name: mark(each)
        for name, each in model.named_parameters()
        if each.requires_grad and each.numel() and (only is None or name in only)
    }


def never_moved(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """Names of the parameters whose marks are the same before and after; InputError for marks of another model."""
    for name, each in (("before", before), ("after", after)):
        instance_of(
            each, dict, name=f"never_moved: {name}", allowed="what marks returned", fix="marks(model)"
        )
    if before and after and before.keys().isdisjoint(after):
        raise wrong(
            "never_moved",
            "the marks are those of two models",
            got=f"{next(iter(before))} before, {next(iter(after))} after",
            allowed="marks of one model, before and after some updates",
            fix="take both of the bare model, or both of the wrapped one (`module.` before each name)",
        )
    return [name for name, number in after.items() if before.get(name) == number]


def lost_to_rounding(weights: Float[Tensor, "*shape"], update: Float[Tensor, "*shape"]) -> float:
    """The share of the elements of an update that are not zero and yet leave their weight as it is.

    A weight in bfloat16 has 8 bits: an update smaller than 2^-9 of it rounds away (Zamirai et al., arXiv
    2010.06192). The update may be in a wider type. 0 where nothing is to be moved. InputError for another shape.
    """
    if weights.shape != update.shape:
        raise wrong(
            "lost_to_rounding: update",
            "has another shape than the weights",
            got=f"{tuple(update.shape)} for {tuple(weights.shape)}",
            allowed="one number for each weight",
            fix="pass each tensor with its own update; lost_share takes several",
        )
    wanted = update != 0
    moved = (weights.float() + update.float()).to(weights.dtype) != weights
    count = int(wanted.sum())
    return int((wanted & ~moved).sum()) / count if count else 0.0


def lost_share(weights: Iterable[Tensor], updates: Iterable[Tensor]) -> float:
    """The same over several tensors, each weighing as many elements as it has."""
    weights, updates = list(weights), list(updates)
    if len(weights) != len(updates):
        raise wrong(
            "lost_share",
            "weights and updates are not as many",
            got=f"{len(weights)} tensors and {len(updates)} updates",
            allowed="an update for each tensor",
            fix="pass both in one order",
        )
    lost = total = 0.0
    for weight, update in zip(weights, updates, strict=True):
        count = int((update != 0).sum())
        lost += lost_to_rounding(weight, update) * count
        total += count
    return lost / total if total else 0.0


def unmoved(names: Sequence[str], *, of: int, updates: int) -> Finding | None:
    """M902 of trainable tensors, `of` in all, that have the same bits as `updates` updates before."""
    if not names:
        return None
    some = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return WEIGHTS_NEVER_MOVE.found(
        f"after {updates} updates {len(names)} of {of} trainable tensors are bit-identical: {some}"
    )


def rounded_away(share: float, *, dtype: torch.dtype) -> Finding | None:
    """S924 where more than MOST_LOST of the elements of updates leave their weight as it is; see `lost_share`."""
    real_number(share, name="rounded_away: share", least=0.0, most=1.0, fix="pass what lost_share returned")
    instance_of(
        dtype,
        torch.dtype,
        name="rounded_away: dtype",
        allowed="the precision of the weights",
        fix="weights.dtype",
    )
    if not share > MOST_LOST:
        return None
    return UPDATES_ROUND_AWAY.found(
        f"{share:.0%} of the elements of the updates leave their {str(dtype).removeprefix('torch.')} weight as "
        f"it is (bound {MOST_LOST:.0%})"
    )

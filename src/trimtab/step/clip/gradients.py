"""The gradients that a clip is given: on parameters, as PyTorch's own clipping takes them, or by themselves."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from trimtab.arguments import described, wrong

ALLOWED = "parameters, such as model.parameters(), or gradients"


def gradients_of(tensors: Any, *, part: str) -> list[Tensor]:
    """The gradients on parameters, without those that have none; gradients as they are.

    A tensor is a parameter where it is an `nn.Parameter`, or a leaf that collects a gradient. InputError for what is
    neither, for both together, and for nothing at all.
    """
    if isinstance(tensors, nn.Module):
        raise wrong(
            f"{part}: parameters",
            "is a module",
            got=described(tensors),
            allowed=ALLOWED,
            fix="call .parameters() on it",
        )
    listed = listed_tensors(tensors, part=part)
    are_parameters = {
        isinstance(each, nn.Parameter) or (each.is_leaf and each.requires_grad) for each in listed
    }
    if len(are_parameters) > 1:
        raise wrong(
            f"{part}: parameters",
            "holds parameters and gradients together",
            got=f"{len(listed)} tensors, of which some are parameters",
            allowed=ALLOWED,
            fix="pass model.parameters()",
        )
    if are_parameters == {False}:
        return listed
    return [each.grad for each in listed if each.grad is not None]


def listed_tensors(tensors: Any, *, part: str) -> list[Tensor]:
    """One tensor or several, at least one."""
    if isinstance(tensors, Tensor):
        return [tensors]
    if isinstance(tensors, Mapping | str | bytes) or not isinstance(tensors, Iterable):
        raise wrong(
            f"{part}: parameters",
            "holds no tensors",
            got=described(tensors),
            allowed=ALLOWED,
            fix="pass model.parameters()",
        )
    given: list[Any] = list(tensors)
    for number, each in enumerate(given):
        if not isinstance(each, Tensor):
            fix = "pass `[p.grad for p in parameters if p.grad is not None]`" if each is None else ""
            raise wrong(
                f"{part}: parameters",
                f"item {number} is no tensor",
                got=described(each),
                allowed=ALLOWED,
                fix=fix or "pass model.parameters(), without names",
            )
    if not given:
        raise wrong(
            f"{part}: parameters",
            "is empty",
            got="no tensor",
            allowed=ALLOWED,
            fix="call model.parameters() each time: a generator can be used up only once",
        )
    return given


def norm_over_ranks(gradients: Sequence[Tensor]) -> Tensor:
    """The norm over all of them; where they are sharded, over the parts of every rank."""
    sharded = [each for each in gradients if is_sharded(each)]
    if not sharded:
        return torch.nn.utils.get_total_norm(gradients)
    norms: list[Any] = [torch.nn.utils.get_total_norm(sharded)]
    whole = [each for each in gradients if not is_sharded(each)]
    parts = [norms[0].full_tensor(), *([torch.nn.utils.get_total_norm(whole)] if whole else [])]
    return torch.linalg.vector_norm(torch.stack(parts))


def local_parts(gradients: Sequence[Tensor]) -> list[Tensor]:
    """What this rank holds of each, in the same memory."""
    parts: list[Any] = [getattr(each, "to_local", None) if is_sharded(each) else None for each in gradients]
    return [each if part is None else part() for each, part in zip(gradients, parts, strict=True)]


def is_sharded(tensor: Tensor) -> bool:
    """Whether it is a DTensor, which `fully_shard` makes."""
    return type(tensor) is not Tensor and hasattr(tensor, "full_tensor")

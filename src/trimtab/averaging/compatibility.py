"""Whether checkpoints can be averaged: what must be the same in all of them, each difference by its name."""

from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.averaging.members import Member
from trimtab.checkpoint.manifest import MODEL
from trimtab.errors import InputError, input_error

STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
"""How tensors of batch norms end, which PyTorch keeps beside the weights."""


MARKS = ("tokenizer", "source_tokenizer", "labels", "charset", "categories")
"""Fingerprints of what ids stand for."""


def check_compatible(members: Sequence[Member]) -> None:
    """InputError with the first member whose model, vocabulary or element types are not those of the first of all, and
    where the models have batch norms."""
    first = members[0]
    for member in members:
        _check_statistics(member)
        _check_whole(member)
    for member in members[1:]:
        for what, ours, theirs in (
            ("kind of model", _kind(first), _kind(member)),
            ("model", _shape(first), _shape(member)),
            ("model", _sizes(first), _sizes(member)),
            ("element type", _types(first), _types(member)),
            ("vocabulary", _vocabulary(first), _vocabulary(member)),
        ):
            if ours != theirs:
                raise _incompatible(member, first, what, ours, theirs)


def different_start(members: Sequence[Member]) -> InputError | None:
    """What is to be said where the members did not begin from the same weights: those that were drawn from different
    seeds lie in different valleys, and their mean on the hill between (Frankle et al. 2020, arXiv 1912.05671)."""
    first = members[0]
    for member in members[1:]:
        ours, theirs = _beginning(first), _beginning(member)
        if ours != theirs:
            return _incompatible(member, first, "first weights", ours, theirs)
    return None


def _incompatible(
    member: Member, first: Member, what: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> InputError:
    keys = [key for key in {**ours, **theirs} if _value(ours, key) != _value(theirs, key)]
    shown, more = keys[:5], f" and {len(keys) - 5} more" if len(keys) > 5 else ""
    fix = "average checkpoints of one run, or of runs that began from the same weights"
    if what == "first weights":
        fix += "; --across-starts REASON does it anyway, and --soup measures whether it helps"
    return input_error(
        f"{member.label} and {first.label} cannot be averaged: another {what}",
        got=", ".join(f"{key} {_value(theirs, key)}" for key in shown) + more,
        allowed=", ".join(f"{key} {_value(ours, key)}" for key in shown) + more,
        fix=fix,
    )


def _check_statistics(member: Member) -> None:
    found = [name for name in member.checkpoint.manifest.tensors[MODEL] if name.endswith(STATISTICS)]
    if found:
        raise input_error(
            f"{member.label} cannot be averaged: it has batch norms",
            got=f"{len(found)} of their statistics, such as {found[0]}",
            allowed="models without batch norm, such as those with layer norms",
            fix="average the weights in your own loop, and recompute the statistics on training data with "
            "torch.optim.swa_utils.update_bn: those of the averaged weights are no mean of the old ones",
        )


def _check_whole(member: Member) -> None:
    if member.recipe.adapter is not None:
        raise input_error(
            f"{member.label} cannot be averaged: it is an adapter",
            got="two thin matrices for each map, whose product counts",
            allowed="checkpoints of whole models",
            fix="merge each with `trimtab export RUN --to hf`; the mean of factors is not the mean of their products",
        )


def _value(tree: Mapping[str, Any], key: str) -> Any:
    value = tree.get(key)
    return "none" if value is None else value


def _kind(member: Member) -> dict[str, Any]:
    return {"kind": member.recipe.model.kind}


def _shape(member: Member) -> dict[str, Any]:
    shape = member.recipe.model.model_dump(mode="json")
    for free in ("preset", "dropout", "warm_start", "warm_start_sha256", "path"):
        shape.pop(free, None)
    return shape


def _sizes(member: Member) -> dict[str, Any]:
    tensors = member.checkpoint.manifest.tensors[MODEL]
    return {name: list(record.shape) for name, record in tensors.items()}


def _types(member: Member) -> dict[str, Any]:
    return {name: record.dtype for name, record in member.checkpoint.manifest.tensors[MODEL].items()}


def _vocabulary(member: Member) -> dict[str, Any]:
    marks = member.checkpoint.fingerprints
    return {key: marks.get(key, "none")[:16] for key in MARKS}


def _beginning(member: Member) -> dict[str, Any]:
    model = member.recipe.model
    if model.pretrained_path:
        return {"pretrained": model.pretrained_sha256}
    warm = model.warm_start_sha256 if model.warm_start else None
    return {"warm_start": warm} if warm else {"seed": member.recipe.seed}

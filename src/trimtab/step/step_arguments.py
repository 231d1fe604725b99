"""The arguments of `accumulate_batches`, checked before anything is computed."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from trimtab.arguments import callable_of, described, whole_number, wrong
from trimtab.errors import InputError

WRAPPED = (
    "pass `model=` what DistributedDataParallel, fully_shard, accelerator.prepare or fabric.setup returned"
)
COUNT = 'count the labels that are not ignored: `int((batch["labels"] != -100).sum())`'


def refuse_wrong_types(loss_of: Any, num_targets: Any, model: Any, backward: Any) -> None:
    """InputError for what is no function, and for a model that is none; whatever else they are is seen later."""
    callable_of(
        loss_of,
        name="accumulate_batches: loss_of",
        allowed="a function of one micro-batch that returns its summed loss",
        fix='`lambda batch: cross_entropy(model(batch[0]), batch[1], reduction="sum")`',
    )
    callable_of(
        num_targets,
        name="accumulate_batches: num_targets",
        allowed="a function of one micro-batch that returns how many targets it has",
        fix="`lambda batch: len(batch[1])`, or " + COUNT.partition(": ")[2],
    )
    if backward is not None:
        own = callable(getattr(backward, "backward", None))
        callable_of(
            backward,
            name="accumulate_batches: backward",
            allowed="a function of the loss, in place of its own backward, or None",
            fix="pass its method `.backward`, without calling it" if own else "leave it out",
        )
    if model is not None and not isinstance(model, nn.Module):
        raise wrong(
            "accumulate_batches: model",
            "is of another type",
            got=described(model),
            allowed="a torch.nn.Module, or nothing on one process",
            fix=WRAPPED,
        )


def as_list(batches: Any) -> list[Any]:
    """The micro-batches of one step; InputError for what is one batch, a whole loader, or nothing."""
    example = "pass a list of batches, or `list(itertools.islice(iterator, 4))`"
    several = "the micro-batches of one step: a list, a generator, or islice of an iterator"
    if isinstance(batches, torch.utils.data.DataLoader):
        raise wrong(
            "accumulate_batches: batches",
            "is a whole loader, not one step",
            got=described(batches),
            allowed=several,
            fix="`iterator = iter(loader)` once, then `itertools.islice(iterator, 4)` in each step",
        )
    if isinstance(batches, Tensor | Mapping | str | bytes) or not isinstance(batches, Iterable):
        what = "is one batch, or none" if isinstance(batches, Tensor | Mapping) else "holds no batches"
        raise wrong("accumulate_batches: batches", what, got=described(batches), allowed=several, fix=example)
    listed = list(batches)
    if not listed:
        raise wrong(
            "accumulate_batches: batches",
            "is empty",
            got="no micro-batch"
            if isinstance(batches, list | tuple)
            else "an iterator that gave nothing more",
            allowed="at least one micro-batch",
            fix="end the epoch where the iterator is exhausted; an iterator can be used up only once",
        )
    return listed


def counted(num_targets: Callable[[Any], int], batch: Any) -> int:
    """The targets of one batch, as an int. Whatever your function raises becomes an InputError, so that no other rank
    waits for this one."""
    try:
        count: Any = num_targets(batch)
    except Exception as error:
        raise wrong(
            "accumulate_batches: num_targets(batch)",
            "failed",
            got=f"{type(error).__name__}: {error}, for {described(batch)}",
            allowed="a function that counts the targets of one micro-batch",
            fix="look at what one element of `batches` is; a single batch is passed as `[batch]`",
        ) from error
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    if isinstance(count, Tensor) and count.numel() == 1 and float(count).is_integer():
        count = int(count)
    return whole_number(count, name="accumulate_batches: num_targets(batch)", least=0, fix=COUNT)


def gradient_wrappers(model: nn.Module | None) -> list[nn.Module]:
    """The outermost modules that average gradients over ranks, as PyTorch's own engines do, and what builds on them."""
    # Some builds of torch have no process groups, and this takes a while; here, there is a group already.
    from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel

    kinds = (DistributedDataParallel, FullyShardedDataParallel, FSDPModule)
    if model is None:
        raise wrong(
            "accumulate_batches: model",
            "is needed where several ranks train together",
            got=described(model),
            allowed="the wrapped model, through which `loss_of` runs",
            fix=WRAPPED,
        )
    found: list[nn.Module] = []
    inner: set[int] = set()
    for module in model.modules():
        if isinstance(module, kinds) and id(module) not in inner:
            found.append(module)
            inner.update(id(each) for each in module.modules())
    if not found:
        raise wrong(
            "accumulate_batches: model",
            "sums no gradients over ranks",
            got=f"{type(model).__name__} without DistributedDataParallel or FSDP in or around it",
            allowed="the wrapped model, through which `loss_of` runs",
            fix=WRAPPED,
        )
    return found


def refuse_own_division(backward: Any) -> None:
    """InputError for Accelerate's `backward` where it divides the loss once more."""
    owner = getattr(backward, "__self__", None)
    times = getattr(owner, "gradient_accumulation_steps", 1)
    if isinstance(times, int) and times > 1:
        raise divides(f"{type(owner).__name__}(gradient_accumulation_steps={times})")


def divides(got: str) -> InputError:
    """What is said of a backward pass that divides the loss."""
    return wrong(
        "accumulate_batches: backward",
        "divides the loss by itself",
        got=got,
        allowed="gradient_accumulation_steps=1, since the loss is divided already",
        fix="leave gradient_accumulation_steps out, and do not use `accelerator.accumulate`",
    )

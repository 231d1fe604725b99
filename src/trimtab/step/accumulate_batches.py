"""Exact accumulation for a loop of your own: the gradient of one large batch, however it is cut and over any ranks."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from trimtab.arguments import described, whole_number, wrong
from trimtab.errors import InputError, input_error
from trimtab.step.summed_loss import refuse_mean, summed_loss
from trimtab.world import ProcessGroup, Ranks, group_of

Own = TypeVar("Own")
"""A batch of your own loop, of any type."""


def accumulate_batches(
    loss_of: Callable[[Own], Tensor],
    batches: Iterable[Own],
    *,
    num_targets: Callable[[Own], int],
    model: nn.Module | None = None,
    backward: Callable[[Tensor], object] | None = None,
    ranks: Ranks = "all",
) -> Float[Tensor, ""]:
    """Adds d(mean loss per target) to the gradients, one micro-batch at a time, and gives that mean, detached: exact
    accumulation for your own loop, with batches of any type.

    `loss_of` gives a batch's loss *summed* over its targets (`reduction="sum"`), `num_targets` how many there are. The
    divisor is the number of all targets together, so the gradient is that of one large batch, however it is cut; a mean
    over means would weigh the targets of short batches more. `batches` are those of one step: a list, a generator, or
    `islice` of a loader. `backward` gets each loss in place of `Tensor.backward`: `accelerator.backward`,
    `fabric.backward`, or `lambda loss: scaler.scale(loss).backward()`. Never calls the optimizer.

    Over several ranks, `model` is what `DistributedDataParallel`, `fully_shard`, Accelerate or Fabric returned, which
    averages gradients: the divisor is that of the targets of all ranks, gradients are summed once, with the last
    micro-batch, and every rank gets the mean over all of them. Ranks may have different numbers of targets and, but
    for sharded models, of micro-batches. `ranks="alone"` is for processes that each train a model of their own.

    Raises InputError for a step without micro-batches, for a mean where it can be recognised, for several processes
    without a process group or a wrapped model; over ranks, on all of them.
    """
    group = group_of(ranks, part="accumulate_batches")
    step = Step.of(batches, num_targets, group)
    wrappers = [] if group is None else gradient_wrappers(model)
    refuse_own_division(backward)
    if group is not None:
        step.refuse_uneven(wrappers)
    run_backward = Tensor.backward if backward is None else backward
    total: Tensor | None = None
    for number, (batch, count) in enumerate(zip(step.batches, step.counts, strict=True)):
        with gradients_summed(wrappers, now=number == len(step.batches) - 1):
            loss = summed_loss(loss_of(batch))
            refuse_mean(loss, num_targets=count)
            share = loss / step.divisor
            run_backward(share)
        total = share.detach() if total is None else total + share.detach()
    assert total is not None
    total = total.to(torch.promote_types(total.dtype, torch.float32))
    return total if group is None else mean_over(total, group)


class Step(NamedTuple):
    """The micro-batches of this rank, and what all ranks together know of the step."""

    batches: list[Any]
    counts: list[int]
    """Targets of each."""
    divisor: int | float
    """What a summed loss is divided by, so that gradients which are averaged over ranks are those of the mean."""
    sizes: list[int]
    """Number of micro-batches of each rank."""

    @classmethod
    def of(cls, batches: Any, num_targets: Callable[[Any], int], group: ProcessGroup | None) -> "Step":
        """Counted; what is wrong on one rank is raised on all of them, so that none waits for another."""
        problem: InputError | None = None
        listed: list[Any] = []
        counts: list[int] = []
        try:
            listed = as_list(batches)
            counts = [counted(num_targets, batch) for batch in listed]
        except InputError as error:
            problem = error
        if group is None:
            if problem is not None:
                raise problem
            return cls(listed, counts, max(1, sum(counts)), [len(listed)])
        rows = group.gathered([len(listed), sum(counts), problem is not None])
        failed = [rank for rank, row in enumerate(rows) if row[2]]
        if failed:
            raise problem or input_error(
                "accumulate_batches: another rank cannot take part in this step",
                got=f"an error on rank {', '.join(map(str, failed))}, which says there what is wrong",
                allowed="at least one micro-batch on every rank, in every step",
                fix="end the epoch on all ranks together: drop_last=True in the loader or the sampler",
            )
        targets = max(1, round(sum(row[1] for row in rows)))
        return cls(listed, counts, targets / group.world_size, [round(row[0]) for row in rows])

    def refuse_uneven(self, wrappers: list[nn.Module]) -> None:
        """A sharded model gathers its weights in each forward pass, so all ranks must make as many of them."""
        sharded = any(not isinstance(each, DistributedDataParallel) for each in wrappers)
        if sharded and len(set(self.sizes)) > 1:
            raise input_error(
                "accumulate_batches: the ranks have different numbers of micro-batches, and the model is sharded",
                got=f"{', '.join(map(str, self.sizes))} micro-batches, by rank",
                allowed="the same number on every rank: each forward pass gathers weights from all of them",
                fix="cut each rank's part into as many micro-batches, or add some whose targets are all ignored",
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
    """The targets of one batch, as an int."""
    count: Any = num_targets(batch)
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    if isinstance(count, Tensor) and count.numel() == 1 and float(count).is_integer():
        count = int(count)
    return whole_number(
        count,
        name="accumulate_batches: num_targets(batch)",
        least=0,
        fix='count the labels that are not ignored: `int((batch["labels"] != -100).sum())`',
    )


def gradient_wrappers(model: nn.Module | None) -> list[nn.Module]:
    """The outermost modules that average gradients over ranks, as PyTorch's own engines do, and what builds on them."""
    # Some builds of torch have no process groups, and this takes a while; here, there is a group already.
    from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel

    kinds = (DistributedDataParallel, FullyShardedDataParallel, FSDPModule)
    example = "pass `model=` what DistributedDataParallel, fully_shard, accelerator.prepare or fabric.setup returned"
    if not isinstance(model, nn.Module):
        raise wrong(
            "accumulate_batches: model",
            "is needed where several ranks train together",
            got=described(model),
            allowed="the wrapped model, through which `loss_of` runs",
            fix=example,
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
            fix=example,
        )
    return found


def refuse_own_division(backward: Any) -> None:
    """InputError for Accelerate's `backward` where it divides the loss once more."""
    owner = getattr(backward, "__self__", None)
    times = getattr(owner, "gradient_accumulation_steps", 1)
    if isinstance(times, int) and times > 1:
        raise wrong(
            "accumulate_batches: backward",
            "divides the loss by itself",
            got=f"{type(owner).__name__}(gradient_accumulation_steps={times})",
            allowed="gradient_accumulation_steps=1, since the loss is divided already",
            fix="leave gradient_accumulation_steps out, and do not use `accelerator.accumulate`",
        )


@contextmanager
def gradients_summed(wrappers: list[nn.Module], *, now: bool) -> Iterator[None]:
    """Forward and backward passes within add to the gradients of this rank, and sum them over ranks only `now`."""
    with ExitStack() as stack:
        for wrapper in wrappers:
            if now:
                continue
            switch: Any = getattr(wrapper, "set_requires_gradient_sync", None)  # of `fully_shard`
            if switch is None:
                no_sync: Any = wrapper.no_sync
                stack.enter_context(no_sync())
            else:
                switch(False)
                stack.callback(switch, True)
        yield


@torch.no_grad()
def mean_over(total: Tensor, group: ProcessGroup) -> Float[Tensor, ""]:
    """The mean over ranks, the same on each, where `total` is."""
    rows = group.gathered([float(total)])
    return torch.tensor(math.fsum(row[0] for row in rows) / len(rows)).to(total)

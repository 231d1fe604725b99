"""Exact accumulation for a loop of your own: the gradient of one large batch, however it is cut and over any ranks."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from trimtab.errors import InputError, input_error
from trimtab.step.mean_in_graph import SeenLoss, refuse_mean
from trimtab.step.step_arguments import (
    as_list,
    counted,
    gradient_wrappers,
    refuse_own_division,
    refuse_wrong_types,
)
from trimtab.step.summed_loss import summed_loss
from trimtab.step.watched_passes import BackwardWatch, runs_through
from trimtab.world import ProcessGroup, WhichRanks, group_of

Own = TypeVar("Own")
"""A batch of your own loop, of any type."""


def accumulate_batches(
    loss_of: Callable[[Own], Tensor],
    batches: Iterable[Own],
    *,
    num_targets: Callable[[Own], int],
    model: nn.Module | None = None,
    backward: Callable[[Tensor], object] | None = None,
    ranks: WhichRanks = "all",
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

    Raises InputError for a step without micro-batches; for several processes without a process group, without a wrapped
    model, or with a loss that does not run through it; for a `backward` that does nothing; and for a mean where it is
    certain. A mean is seen where the loss ends in one, by PyTorch's own losses or `.mean()`, with at most a sign, a
    division or another precision after it; a mean of `cross_entropy` also beside other terms. Where micro-batches of
    the step have different numbers of targets, it is seen by a constant as well: one that stays (`0.5 * mean`), or
    falls as they grow (`sum / number`). docs/functions.md lists what is not seen.
    """
    refuse_wrong_types(loss_of, num_targets, model, backward)
    group = group_of(ranks, part="accumulate_batches")
    step = Step.of(batches, num_targets, group)
    wrappers = [] if group is None else gradient_wrappers(model)
    refuse_own_division(backward)
    if group is not None:
        step.refuse_uneven(wrappers)
    total: Tensor | None = None
    seen: list[SeenLoss] = []
    for number, (batch, count) in enumerate(zip(step.batches, step.counts, strict=True)):
        with gradients_summed(wrappers, now=number == len(step.batches) - 1):
            with runs_through(wrappers):
                loss = summed_loss(loss_of(batch), num_targets=count)
            refuse_mean(loss, num_targets=count, before=seen)
            share = loss / step.divisor
            run_backward(share, backward)
        total = share.detach() if total is None else total + share.detach()
    assert total is not None
    total = total.to(torch.promote_types(total.dtype, torch.float32))
    return total if group is None else mean_over(total, group)


def run_backward(share: Tensor, backward: Callable[[Tensor], object] | None) -> None:
    """The backward pass of a micro-batch, by its own function or by yours."""
    watch = BackwardWatch(share)
    try:
        (Tensor.backward if backward is None else backward)(share)
    except RuntimeError as error:
        if "backward through the graph a second time" not in str(error):
            raise
        raise input_error(
            "accumulate_batches: loss_of(batch): has run its backward pass already",
            got="a loss whose graph is freed",
            allowed="a loss that accumulate_batches calls backward on",
            fix="take `.backward()` out of loss_of, and compute the whole loss again for each micro-batch",
        ) from error
    if backward is not None:
        watch.refuse()


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
        rows = group.gathered([len(listed), sum(counts), problem is not None], part="accumulate_batches")
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
    rows = group.gathered([float(total)], part="the end of accumulate_batches")
    return torch.tensor(math.fsum(row[0] for row in rows) / len(rows)).to(total)

"""What ranks must agree on before any of them acts: facts of one process, such as a clock, a signal or a file.

With one rank nothing is called.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from trimtab.distributed.ranks import Ranks
from trimtab.errors import RunFailed
from trimtab.types import Batch, fill

Given = TypeVar("Given")
Result = TypeVar("Result")


def any_rank(flag: bool, ranks: Ranks) -> bool:
    """Whether the flag is set on any rank."""
    return flag if ranks.world_size == 1 else ranks.sum_ints([flag])[0] > 0


def broadcast_from_first(number: float, ranks: Ranks) -> float:
    """The number that the first rank has, to the last bit."""
    if ranks.world_size == 1:
        return number
    sent = torch.tensor([number], dtype=torch.float64)
    ranks.broadcast([sent])
    return float(sent)


def micro_batches(batches: Sequence[Batch], ranks: Ranks) -> tuple[int, float]:
    """How many micro-batches a step has on all ranks together, and the share of their slots that is in use; `batches`
    are those of this rank."""
    if ranks.world_size == 1:
        return len(batches), fill(batches)
    real = sum(each.num_tokens > 0 for each in batches)  # without those that only keep step with other ranks
    mine = (real, sum(each.num_tokens for each in batches), sum(each.num_slots for each in batches))
    count, tokens, slots = ranks.sum_ints(mine)
    return count, tokens / slots


def first_rank_first(
    ranks: Ranks, work: Callable[[], Result], *, then: Callable[[], Result] | None = None
) -> Result:
    """What `work` gives on the first rank, and once it is done there what it (or `then`) gives on the others: for work
    that leaves files which the others read.

    Where it fails on the first rank, all others raise RunFailed.
    """
    if ranks.world_size == 1:
        return work()
    if not ranks.is_first:
        if ranks.sum_ints([0], patient=True)[0]:
            raise RunFailed("rank 0 failed; its message says why")
        return (then or work)()
    failed = 1
    try:
        result = work()
        failed = 0
    finally:
        ranks.sum_ints([failed], patient=True)
    return result


def in_turn(work: Callable[[list[Given]], list[Result]], given: list[Given], ranks: Ranks) -> list[Result]:
    """What `work` makes of each item of a list, where ranks take the items in turn; each gets all results, which JSON
    must be able to hold."""
    if ranks.world_size == 1:
        return work(given)
    results: list[Any] = [None] * len(given)
    for rank, some in enumerate(ranks.gather(work(given[ranks.rank :: ranks.world_size]))):
        results[rank :: ranks.world_size] = some
    return results

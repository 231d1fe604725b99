"""Ranks over `torch.distributed`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import groupby

import torch
import torch.distributed as dist
from torch import Tensor

NUMBERS_AT_ONCE = 1 << 25
"""So many numbers are copied into one buffer and summed at once, or those of one tensor where that is larger."""


class TorchRanks:
    """The ranks of the default process group, which must be initialised.

    On a GPU the group needs a backend for either device (`cpu:gloo,cuda:nccl`): counts are summed on the host, so that
    no step waits for the device.
    """

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    @torch.no_grad()
    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        """Sums in place, many tensors in one call. A ring or tree adds each number on one rank and sends the result to
        the others, so that all have the same bits."""
        for bucket in in_buckets(tensors):
            flat = torch.cat([wide(each).reshape(-1) for each in bucket])
            dist.all_reduce(flat)
            for mine, summed in zip(bucket, flat.split([each.numel() for each in bucket]), strict=True):
                mine.copy_(summed.view_as(mine))

    def sum_ints(self, numbers: Sequence[int]) -> list[int]:
        """Sums on the host, int64."""
        sums = torch.tensor(numbers, dtype=torch.int64)
        dist.all_reduce(sums)
        return [int(each) for each in sums]

    @torch.no_grad()
    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Copies from rank 0 in place, tensor by tensor."""
        for tensor in tensors:
            dist.broadcast(tensor, src=0)

    def barrier(self) -> None:
        """Waits on the host."""
        self.sum_ints([0])


@contextmanager
def joined_ranks(
    *, backend: str, init_method: str, rank: int, world_size: int, timeout_seconds: float = 600.0
) -> Iterator[TorchRanks]:
    """Joins the process group for as long as the block runs; `init_method` is a URL (`env://` under torchrun)."""
    dist.init_process_group(
        backend,
        init_method=init_method,
        rank=rank,
        world_size=world_size,
        timeout=timedelta(seconds=timeout_seconds),
    )
    try:
        yield TorchRanks()
    finally:
        dist.destroy_process_group()


def wide(tensor: Tensor) -> Tensor:
    """The tensor in at least float32: sums of half precision lose too much."""
    return tensor.detach().to(torch.promote_types(tensor.dtype, torch.float32))


def in_buckets(tensors: Sequence[Tensor], *, largest: int = NUMBERS_AT_ONCE) -> Iterator[list[Tensor]]:
    """The tensors in their order, parted where the precision changes or a bucket would grow beyond the largest."""
    for _, alike in groupby(tensors, key=lambda each: (each.dtype, each.device)):
        bucket: list[Tensor] = []
        size = 0
        for tensor in alike:
            if bucket and size + tensor.numel() > largest:
                yield bucket
                bucket, size = [], 0
            bucket.append(tensor)
            size += tensor.numel()
        yield bucket

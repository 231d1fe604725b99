"""Ranks over `torch.distributed`."""

import json
import os
import socket
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from itertools import groupby
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from trimtab.distributed.launched import LaunchedRank
from trimtab.distributed.watch import Watch
from trimtab.errors import RunFailed, TrimtabError, input_error, one_line

NUMBERS_AT_ONCE = 1 << 25
"""So many numbers are copied into one buffer and summed at once, or those of one tensor where that is larger."""
LONGEST_CALL = timedelta(days=7)
"""The watch ends a job that hangs, after `parallel.timeout`, and knows which rank is to blame; `torch.distributed`,
which knows neither, must not be faster."""
LEAVE_SECONDS = 5.0
"""So long a process that has failed waits for `torch.distributed` to close; on a GPU it may wait for a dead rank."""


class TorchRanks:
    """The ranks of the default process group, which must be initialised.

    On a GPU the group needs a backend for either device (`cpu:gloo,cuda:nccl`): counts are summed on the host, so that
    no step waits for the device.
    """

    def __init__(self, watch: Watch | None = None) -> None:
        self.rank = dist.get_rank()
        self.world_size = dist.get_world_size()
        self.watch = watch
        """Ends the job where a rank is gone; None where another program looks after the processes."""

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    @torch.no_grad()
    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        """Sums in place, many tensors in one call. A ring or tree adds each number on one rank and sends the result to
        the others, so that all have the same bits. On a GPU it may be recorded."""
        for bucket in in_buckets(tensors):
            flat = torch.cat([wide(each).reshape(-1) for each in bucket])
            with self.collective(on=flat.device):
                dist.all_reduce(flat)
            for mine, summed in zip(bucket, flat.split([each.numel() for each in bucket]), strict=True):
                mine.copy_(summed.view_as(mine))

    def sum_ints(self, numbers: Sequence[int], *, patient: bool = False) -> list[int]:
        """Sums on the host, int64."""
        sums = torch.tensor(numbers, dtype=torch.int64)
        with self.collective(patient=patient):
            dist.all_reduce(sums)
        return [int(each) for each in sums]

    @torch.no_grad()
    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Copies from rank 0 in place, tensor by tensor."""
        for tensor in tensors:
            with self.collective(on=tensor.device):
                dist.broadcast(tensor, src=0)

    def gather(self, content: Any) -> list[Any]:
        """What JSON can hold, of every rank, in the order of ranks, on each of them."""
        mine = torch.frombuffer(bytearray(json.dumps(content).encode()), dtype=torch.uint8)
        sizes = [0] * self.world_size
        sizes[self.rank] = len(mine)
        sizes = self.sum_ints(sizes)
        padded = torch.zeros(max(sizes), dtype=torch.uint8)
        padded[: len(mine)] = mine
        rows = [torch.empty_like(padded) for _ in sizes]
        with self.collective():
            dist.all_gather(rows, padded)
        return [json.loads(bytes(row[:size].tolist())) for row, size in zip(rows, sizes, strict=True)]

    def barrier(self) -> None:
        """Waits on the host."""
        self.sum_ints([0])

    def collective(
        self, *, on: torch.device | None = None, patient: bool = False
    ) -> AbstractContextManager[None]:
        """A call that all ranks make together, as the watch counts them. On a GPU it only puts work into a queue, and
        is not counted."""
        if self.watch is None or (on is not None and on.type == "cuda"):
            return nullcontext()
        return self.watch.collective(patient=patient)


@contextmanager
def launched_ranks(mine: LaunchedRank, *, timeout_seconds: float = 600.0) -> Iterator[TorchRanks]:
    """Joins the ranks that a launcher has started, each on a GPU of its own where there are GPUs, for as long as the
    block runs.

    What this rank fails with is known to the others; those that come to a call without a rank that is gone raise
    RankLost. Raises RunFailed where the ranks do not find each other, InputError where there are fewer GPUs than ranks.
    """
    device = own_device(mine)
    store = rendezvous_store(mine, timeout_seconds=timeout_seconds)
    watch = Watch(
        dist.PrefixStore(
            f"trimtab/{mine.restarts}/watch", rendezvous_store(mine, timeout_seconds, is_client=True)
        ),
        rank=mine.rank,
        world_size=mine.world_size,
        timeout_seconds=timeout_seconds,
    )
    use_loopback(mine)
    with connection_failures(mine):
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
            store=dist.PrefixStore(f"trimtab/{mine.restarts}/ranks", store),
            rank=mine.rank,
            world_size=mine.world_size,
            timeout=LONGEST_CALL,
        )
        watch.begin()
    ranks = TorchRanks(watch)
    try:
        yield ranks
        ranks.barrier()
        watch.close()
    except TrimtabError as error:
        watch.failed(str(error), code=error.exit_code)
        watch.close()
        leave()
        raise
    except RuntimeError as error:
        lost = watch.lost_rank_behind(error)  # in calls of `fully_shard`, which are not counted
        watch.failed(str(lost or f"{type(error).__name__}: {error}"), code=lost.exit_code if lost else 1)
        watch.close()
        if lost is None:
            raise
        leave()
        raise lost from None
    except BaseException as error:
        watch.failed(f"{type(error).__name__}: {error}", code=1)
        watch.close()
        raise
    leave()


def own_device(mine: LaunchedRank) -> torch.device:
    """The device of this rank, which is then the current one; InputError where this host has too few GPUs."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if mine.local_rank >= count:
        raise input_error(
            f"rank {mine.rank}: this host has no GPU for it",
            got=f"{mine.local_world_size} processes and {count} GPUs",
            allowed="one GPU for each process",
            fix=f"start torchrun with --nproc-per-node {count}, or on the CPU with CUDA_VISIBLE_DEVICES= before it",
        )
    # A recording is made by each rank alone, and must not wait for others to register memory with it.
    os.environ.setdefault("NCCL_GRAPH_REGISTER", "0")
    torch.cuda.set_device(mine.local_rank)
    return torch.device("cuda", mine.local_rank)


def rendezvous_store(mine: LaunchedRank, timeout_seconds: float, *, is_client: bool = False) -> dist.TCPStore:
    """The store at the address of the launcher; where the launcher keeps none, rank 0 does, in its first call."""
    is_server = mine.rank == 0 and not mine.agent_has_the_store and not is_client
    with connection_failures(mine):
        return dist.TCPStore(
            mine.address,
            mine.port,
            is_master=is_server,
            wait_for_workers=False,
            timeout=timedelta(seconds=timeout_seconds),
        )


@contextmanager
def connection_failures(mine: LaunchedRank) -> Generator[None]:
    """Raises RunFailed where the ranks cannot connect to each other."""
    try:
        yield
    except (RuntimeError, OSError) as error:
        said = one_line((str(error).splitlines() or [type(error).__name__])[0])[:300]
        raise RunFailed(
            f"rank {mine.rank}: the {mine.world_size} processes could not connect: {said}\n"
            f"  got     MASTER_ADDR={mine.address}, MASTER_PORT={mine.port}\n"
            "  allowed a host that all processes can reach, and a free port on it\n"
            "  fix     check that torchrun got the same --rdzv-endpoint and --nnodes on every host, and that no "
            "firewall is between them; with several network cards set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME"
        ) from None


def use_loopback(mine: LaunchedRank) -> None:
    """On one host, processes meet on the host itself, whatever its name resolves to."""
    if mine.one_host and any(name == "lo" for _, name in socket.if_nameindex()):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


def leave() -> None:
    """Closes the process group; where that waits for a rank that is gone, it is left to the end of the process."""
    closing = threading.Thread(target=dist.destroy_process_group, daemon=True)
    closing.start()
    closing.join(LEAVE_SECONDS)


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

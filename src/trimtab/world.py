"""The processes that a loop of your own runs in, found without loading torch: `torch.distributed` is only looked at
where the loop has loaded it.

Words are those of PyTorch: a *rank* is the number of a process, the *world size* how many there are.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from trimtab.errors import InputError, input_error

WhichRanks = Literal["all", "alone"] | Any
"""Who takes part: all ranks of the default process group, this process alone, or the ranks of a process group."""


PARTS = ("accumulate_batches", "the end of accumulate_batches", "Guard.judge")
"""Calls in which ranks exchange numbers. Each sends its number, so that an error can name both."""
MOST_NUMBERS = 3
"""That a rank gives in one of them. All calls send as many, since ranks that send more or fewer would fail or hang."""


def launched_processes(environment: Mapping[str, str] | None = None) -> int:
    """How many processes a launcher (torchrun, `accelerate launch`) says it has started: `WORLD_SIZE`, else 1."""
    text = (os.environ if environment is None else environment).get("WORLD_SIZE", "")
    return int(text) if text.isdecimal() and int(text) > 0 else 1


def processes_here() -> int:
    """How many of them are on this host, which they share: `LOCAL_WORLD_SIZE`, else 1."""
    text = os.environ.get("LOCAL_WORLD_SIZE", "")
    return int(text) if launched_processes() > 1 and text.isdecimal() and int(text) > 0 else 1


def group_of(ranks: WhichRanks, *, part: str) -> "ProcessGroup | None":
    """The process group that `part` works over; None for one process.

    Raises InputError where a launcher has started several processes and none of them has joined a group: they would
    train apart from one another and nobody would notice. InputError for `ranks` of another kind, too.
    """
    checked_ranks(ranks, part=part)
    if isinstance(ranks, str) and ranks == "alone":
        return None
    dist: Any = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        group = ProcessGroup(dist, None if isinstance(ranks, str) else ranks)
        return group if group.world_size > 1 else None
    if launched_processes() > 1:
        raise no_group(part)
    return None


def checked_ranks(ranks: Any, *, part: str) -> WhichRanks:
    """What says who takes part; InputError for anything else."""
    if isinstance(ranks, str):
        known = ranks in ("all", "alone")
    else:
        dist: Any = sys.modules.get("torch.distributed")
        known = dist is not None and dist.is_available() and isinstance(ranks, dist.ProcessGroup)
    if not known:
        raise input_error(
            f"{part}: ranks: names no ranks",
            got=repr(ranks),
            allowed='"all", "alone", or a process group that this process belongs to (torch.distributed.new_group)',
            fix='leave it out, or pass `ranks="alone"` where each process trains a model of its own',
        )
    return ranks


def no_group(part: str) -> InputError:
    """Of several processes that are not joined."""
    return input_error(
        f"{part}: there are several processes, and no process group that joins them",
        got=f"WORLD_SIZE={os.environ.get('WORLD_SIZE')}, and torch.distributed is not initialized",
        allowed="a process group over all of them, or one process",
        fix="call torch.distributed.init_process_group() first (Accelerate and the Trainer do; Lightning and Fabric do "
        "where they know of all processes: pass them `devices=`, such as `devices=2` for two processes), or pass "
        '`ranks="alone"` where each process trains a model of its own',
    )


def out_of_step(called: Sequence[str]) -> InputError:
    """Of ranks that are in calls of different parts, by rank."""
    return input_error(
        f"{called[0]}: the ranks are not in the same call",
        got=", ".join(f"rank {rank} in {name}" for rank, name in enumerate(called)),
        allowed="the same calls, in the same order, on every rank",
        fix="call accumulate_batches and Guard.judge on all ranks in every step, never under `if rank == 0`",
    )


class ProcessGroup:
    """A process group of `torch.distributed` that is initialised and this process belongs to."""

    def __init__(self, dist: Any, group: Any) -> None:
        self.dist, self.group = dist, group
        self.world_size = int(dist.get_world_size(group))
        self.rank = int(dist.get_rank(group))

    def gathered(self, numbers: Sequence[float], *, part: str) -> list[list[float]]:
        """The numbers of every rank, in the order of ranks: the same list on each of them. Waits for all of them, and
        for the GPU where the group has no backend for the CPU. InputError where another rank is in another of PARTS."""
        torch: Any = sys.modules["torch"]
        filled = [*numbers, *[0.0] * (MOST_NUMBERS - len(numbers))]
        mine = torch.tensor([float(each) for each in (PARTS.index(part), *filled)], dtype=torch.float64)
        mine = mine.to(self.device)
        rows = [torch.empty_like(mine) for _ in range(self.world_size)]
        self.dist.all_gather(rows, mine, group=self.group)
        found: list[list[float]] = [row.tolist() for row in rows]
        called = [PARTS[round(row[0])] for row in found]
        if len(set(called)) > 1:
            raise out_of_step(called)
        return [row[1 : 1 + len(numbers)] for row in found]

    def broadcast_text(self, text: str) -> str:
        """The text of the first rank."""
        parts = [text]
        self.dist.broadcast_object_list(parts, group=self.group, group_src=0, device=self.device)
        return parts[0]

    @property
    def device(self) -> Any:
        """Where the group can send small numbers: on the CPU where it has a backend for it."""
        torch: Any = sys.modules["torch"]
        kinds = [each.partition(":")[0] for each in self.dist.get_backend_config(self.group).split(",")]
        if "cpu" in kinds:
            return torch.device("cpu")
        return torch.device(kinds[0], torch.accelerator.current_device_index())

"""What a launcher such as torchrun tells each process that it starts, checked before anything waits for the others."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.errors import InputError, Problem
from trimtab.world import launched_processes

BY_TORCHRUN = "start it with `torchrun --nproc-per-node N -m trimtab train RECIPE`, which sets it"
MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class LaunchedRank:
    """This process among those that a launcher has started."""

    rank: int
    world_size: int
    local_rank: int
    """Its number on this host, from 0; on a GPU, the number of its device."""
    local_world_size: int
    """How many of the processes are on this host."""
    address: str
    """Of the store through which the processes meet (`MASTER_ADDR`)."""
    port: int
    agent_has_the_store: bool = False
    """Whether the launcher itself keeps the store; otherwise rank 0 does."""
    restarts: int = 0
    """How often torchrun has started the processes again; their keys in the store differ by it."""

    @property
    def one_host(self) -> bool:
        """Whether all processes are on this host."""
        return self.local_world_size == self.world_size


def launched(environment: Mapping[str, str] | None = None) -> LaunchedRank | None:
    """What the launcher says of this process; None where it is the only one.

    Raises InputError with everything that is missing or contradicts itself.
    """
    found = os.environ if environment is None else environment
    world_size = launched_processes(found)
    if world_size == 1:
        return None
    problems: list[Problem] = []

    def number(key: str, *, default: int | None = None, most: int = world_size - 1, least: int = 0) -> int:
        text = found.get(key, "" if default is None else str(default)).strip()
        if text.isascii() and text.isdecimal() and least <= int(text) <= most:
            return int(text)
        problems.append(
            Problem(
                what=f"{key}: {'is not a valid number for this job' if text else 'is not set'}",
                got=repr(text) if text else f"WORLD_SIZE={world_size} and no {key}",
                allowed=f"{least} to {most}",
                fix=f"{BY_TORCHRUN}; or unset WORLD_SIZE to train in one process",
            )
        )
        return least

    rank = number("RANK")
    local_world_size = number("LOCAL_WORLD_SIZE", default=1, least=1, most=world_size)
    mine = LaunchedRank(
        rank=rank,
        world_size=world_size,
        local_rank=number("LOCAL_RANK", default=rank if local_world_size == world_size else 0),
        local_world_size=local_world_size,
        address=found.get("MASTER_ADDR", "").strip(),
        port=number("MASTER_PORT", most=MOST_PORT, least=1),
        agent_has_the_store=found.get("TORCHELASTIC_USE_AGENT_STORE", "") == "True",
        restarts=number("TORCHELASTIC_RESTART_COUNT", default=0, most=10**9),
    )
    problems += _address_problems(mine.address)
    if problems:
        raise InputError(*problems)
    return mine


def was_started_again(environment: Mapping[str, str] | None = None) -> bool:
    """Whether torchrun has started this process in place of one that ended, perhaps as the only one that is left."""
    count = (os.environ if environment is None else environment).get("TORCHELASTIC_RESTART_COUNT", "0")
    return count.isdecimal() and int(count) > 0


def _address_problems(address: str) -> list[Problem]:
    """What is wrong with the address at which the processes are to meet."""
    allowed = "the name or address of the host of rank 0, the same for every process"
    if not address:
        return [Problem(what="MASTER_ADDR: is not set", got="nothing", allowed=allowed, fix=BY_TORCHRUN)]
    try:
        socket.getaddrinfo(address, None)
    except (OSError, UnicodeError) as error:
        return [
            Problem(
                what="MASTER_ADDR: this host cannot resolve the name",
                got=f"{address!r} ({getattr(error, 'strerror', None) or error})",
                allowed=allowed,
                fix="pass torchrun a name that every host resolves, or the address itself: "
                "`--rdzv-endpoint HOST:29500`; on one host, `torchrun --standalone`",
            )
        ]
    return []

"""How much memory this host has, or the container that the process runs in."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MEMINFO, GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


class HostMemory(NamedTuple):
    """Bytes; None where the system does not say."""

    total: int | None
    free: int | None
    """What a new process can take without swapping."""


def host_memory() -> HostMemory:
    """The memory of the host, or less where its container may take less (cgroup v2)."""
    totals, free = list[int](), list[int]()
    with suppress(OSError, ValueError):
        found = dict(re.findall(r"^(\w+):\s+(\d+) kB", MEMINFO.read_text(encoding="ascii"), re.MULTILINE))
        totals += [1024 * int(found[key]) for key in ("MemTotal",) if key in found]
        free += [1024 * int(found[key]) for key in ("MemAvailable",) if key in found]
    if not totals:
        with suppress(ValueError, OSError, AttributeError):  # a system without /proc, or without sysconf
            totals.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # no limit is written as `max`, which is no number
        most = int((GROUP / "memory.max").read_text(encoding="ascii"))
        totals.append(most)
        free.append(max(0, most - int((GROUP / "memory.current").read_text(encoding="ascii"))))
    return HostMemory(min(totals, default=None), min(free, default=None))

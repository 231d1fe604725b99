"""Work done by a user who owns nothing here, as far as root can become one."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checkpoint.dying import run_in_child

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")

NOBODY = 65534


def done_by_nobody(work: Callable[[], None], *, within: Path) -> int:
    """Exit code of the work in a child that is nobody; the folders above `within` let everybody through."""
    for folder in (within, *within.parents[:-1]):
        if folder.stat().st_uid == os.geteuid():
            os.chmod(folder, folder.stat().st_mode | 0o755)

    def as_nobody() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        work()

    return run_in_child(as_nobody)

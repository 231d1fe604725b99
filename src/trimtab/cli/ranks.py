"""A command that runs as several processes, which a launcher has started: one of them speaks for all."""

import os
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from trimtab.errors import RankLost, TrimtabError, input_error
from trimtab.world import launched_processes

if TYPE_CHECKING:
    from trimtab.distributed import Ranks
    from trimtab.distributed.launched import LaunchedRank

WAIT_SECONDS = 3.0
"""So long a rank waits for the first one to say what has failed, before it does so itself."""


def launched_rank() -> "tuple[LaunchedRank | None, bool]":
    """This process among those that a launcher has started, if it has, and whether torchrun has started it again.

    Without a launcher torch is not loaded, so that a wrong recipe is refused where torch is not installed.
    """
    size = os.environ.get("WORLD_SIZE", "1").strip()
    if not (size.isascii() and size.isdecimal() and int(size) > 0):
        raise input_error(
            "WORLD_SIZE: is not a number of processes",
            got=repr(size),
            allowed="a number from 1",
            fix="start the job with `torchrun --nproc-per-node N -m trimtab train RECIPE`, which sets it; or unset it",
        )
    if launched_processes() == 1 and "TORCHELASTIC_RESTART_COUNT" not in os.environ:
        return None, False
    from trimtab.distributed.launched import launched, was_started_again

    return launched(), was_started_again()


@contextmanager
def ranks_of_launcher(*, timeout_seconds: float) -> "Generator[Ranks]":
    """The ranks of this job; one alone where no launcher has started others.

    An error that the first rank tells is not told by the others, which end with the same exit code.
    """
    from trimtab.distributed import ONE_RANK
    from trimtab.distributed.launched import launched

    if (mine := launched()) is None:
        yield ONE_RANK
        return
    from trimtab.distributed.torch_ranks import launched_ranks

    watch: Any = None
    try:
        with launched_ranks(mine, timeout_seconds=timeout_seconds) as ranks:
            watch = ranks.watch
            yield ranks
    except TrimtabError as error:
        if mine.rank and watch is not None and (told := watch.failure_of(0, wait_seconds=WAIT_SECONDS)):
            end_now(told[0]) if isinstance(error, RankLost) else None
            raise typer.Exit(told[0]) from None
        if isinstance(error, RankLost):
            from trimtab.cli.shell import tell

            tell(error)
            end_now(error.exit_code)
        raise


@contextmanager
def report_once(mine: "LaunchedRank | None") -> Generator[None]:
    """While the ranks have not joined, the first process of a host reports an error that all of them find.

    Another process waits before it reports its error: where all find the same one, the launcher ends it meanwhile.
    """
    try:
        yield
    except TrimtabError:
        if mine is not None and mine.local_rank:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # ends it without a word
            time.sleep(WAIT_SECONDS)
            typer.echo(f"rank {mine.rank}:", err=True)
        raise


def end_now(code: int) -> None:
    """Ends the process without clearing up: what belongs to a rank that is gone may never answer."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

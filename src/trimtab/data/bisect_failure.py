"""Finds the example that kills or hangs the process that reads it, by bisection."""

from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

from trimtab.data.chunk import MakesChunks
from trimtab.data.worker_process import context, started
from trimtab.errors import TrimtabError

PROBE_SECONDS = 10.0
"""A process that needs longer for a part of a chunk, which takes a fraction of a second, is taken to hang."""


def bisect_failure(feed: MakesChunks, *, start: int, count: int) -> int | None:
    """The position whose example alone ends a process or hangs; None if every half is read without harm.

    It takes at most `PROBE_SECONDS` for each halving, and as many processes as twice the halvings.
    """
    return halved(lambda first, size: survives(feed, first, size), start=start, count=count)


def halved(is_harmless: Callable[[int, int], bool], *, start: int, count: int) -> int | None:
    """The one place of a harmful stretch that does the harm; None if its halves are harmless on their own."""
    while count > 1:
        left = count // 2
        if not is_harmless(start, left):
            count = left
        elif not is_harmless(start + left, count - left):
            start, count = start + left, count - left
        else:
            return None
    return start


def survives(feed: MakesChunks, start: int, count: int) -> bool:
    """Whether a process of its own gets through these positions in time; an error that is reported does no harm."""
    receiver, sender = context().Pipe(duplex=False)
    with sender:
        process = started(_read, feed, start, count, sender, name="data probe")
    try:
        return receiver.poll(PROBE_SECONDS) and receiver.recv()
    except EOFError:
        return False
    finally:
        receiver.close()
        process.kill()
        process.join()


def _read(feed: MakesChunks, start: int, count: int, pipe: Connection) -> None:
    with suppress(TrimtabError):
        feed.chunk(start=start, count=count)
    pipe.send(True)

"""Blocks signals for a while, also in processes started meanwhile."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FOR_THE_GROUP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""What a terminal or a cluster sends to a whole group of processes, and means for the one that leads it."""


@contextmanager
def block_signals() -> Iterator[None]:
    """Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 are handled when the body has ended, and blocked in processes that it starts.

    A process that takes them must unblock them. In a thread the body is never broken off anyway: Python handles signals
    in the main one. That one has to put its handlers off too, because a blocked signal is delivered to another thread
    and handled here anyway.
    """
    came: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in FOR_THE_GROUP}
        handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, frame: came.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FOR_THE_GROUP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in reversed(handlers.items()):
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


def ignore_for_good() -> None:
    """For a process that was started in such a body, which continues until the one that started it ends."""
    for number in FOR_THE_GROUP:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FOR_THE_GROUP)

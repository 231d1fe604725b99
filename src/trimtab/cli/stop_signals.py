"""Ctrl-C, SIGTERM, SIGUSR1 and the end of its terminal end a command with one line and an exit code, at any moment."""

import atexit
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
GRACE_SECONDS = 10.0
"""What a command may take to remove what is half made. A second signal ends it at once."""
_BY_SIGNALS = 128
"""And the number of the signal is the exit code, as shells count."""
_START_AGAIN = {signal.SIGUSR1: 99}
"""SIGUSR1 comes from a batch system before the time of a job is over, which then puts it into its queue again."""
_NAMES = {
    signal.SIGINT: "Ctrl-C",
    signal.SIGTERM: "SIGTERM",
    signal.SIGHUP: "the end of its terminal",
    signal.SIGUSR1: "SIGUSR1",
}


def run_stoppable(command: Callable[[], int]) -> int:
    """Runs a command and gives its exit code, 128 and the signal's number where one has ended it, 99 for SIGUSR1.

    The signal raises in the command, so that what is half made can be removed. Whatever the command makes of that, it
    ends: an exception that became another one, or none, on its way through other code, is no traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        return command()  # whoever owns the process handles its signals
    stop = _Stop()
    try:
        try:
            stop.listen()
            code = command()
        finally:
            stop.is_over = True  # from here on nothing is raised any more
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            stop.tell(signal.SIGINT)  # unless it was one of ours, and is reported
        if stop.number is None:
            raise
        return _code(stop.number)
    return code if stop.number is None else _code(stop.number)


class _Stopped(KeyboardInterrupt):
    pass


class _Stop:
    """What is known of the first signal. A thread of its own sees signals too, and needs no help of the main one, which
    may be in a library's code for minutes."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.is_over = False

    def listen(self) -> None:
        """Signals that are ignored (`nohup`, `command &` in a script) stay so."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(reader,), daemon=True, name="stop signals").start()
        for number in STOPPING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._raise_first)
        atexit.register(_ignore_signals)
        usual = sys.unraisablehook

        def hook(lost: "sys.UnraisableHookArgs") -> None:
            if not issubclass(lost.exc_type, _Stopped):
                usual(lost)
            elif self.number is not None:  # raised where Python drops exceptions, as in a `__del__`
                _end(self.number)

        sys.unraisablehook = hook

    def tell(self, number: int) -> None:
        """The one line, unless it is reported already."""
        if self.number is not None:
            return
        self.number = number
        line = f"stopped: by {_NAMES[signal.Signals(number)]}\n"
        with suppress(OSError):  # nobody listens any more
            # The terminal has shown `^C`, perhaps behind a line that was being rewritten.
            os.write(2, (f"\n{line}" if os.isatty(2) else line).encode())

    def _raise_first(self, number: int, frame: FrameType | None) -> None:
        if self.is_over or self.number is not None:
            return  # the thread ends the process
        self.tell(number)
        raise _Stopped

    def _watch(self, reader: int) -> None:
        while True:
            number = os.read(reader, 1)[0]
            # Training takes signals itself, and saves first.
            if number in STOPPING and signal.getsignal(number) == self._raise_first:
                break
        if not self.is_over:
            select.select([reader], [], [], GRACE_SECONDS)
        self.tell(number)
        _end(number)


def _ignore_signals() -> None:
    """The work is done and its exit code known. A signal that comes while Python clears up would kill the process: its
    handlers are gone by then."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def _end(number: int) -> NoReturn:
    os._exit(_code(number))


def _code(number: int) -> int:
    """The exit code after a signal."""
    return _START_AGAIN.get(signal.Signals(number), _BY_SIGNALS + number)

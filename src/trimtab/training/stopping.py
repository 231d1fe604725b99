"""Signals that ask a run to stop: it finishes the step at hand and saves first."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from trimtab.errors import Interrupted, StartAgain, Terminated
from trimtab.training.record import Recorder
from trimtab.types import TrainState


@contextmanager
def stopping(recorder: Recorder) -> Iterator[list[int]]:
    """The first signal ends the run after the step at hand, with a checkpoint; the second ends it now.

    Gives the numbers of those that came.
    """
    came: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        came.append(number)
        recorder.must_stop = True
        signal.signal(number, signal.SIG_DFL)

    try:
        before = {number: signal.signal(number, ask) for number in stopping_signals()}
    except ValueError:  # not the main thread: whoever owns the process handles its signals
        yield came
        return
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stopped(signals: Sequence[int], state: TrainState, *, keeps: bool = True) -> Terminated:
    """What a run ends with that was asked to stop and has saved, where it `keeps` checkpoints."""
    then = "continue with --resume" if keeps else "`checkpoint.write: false` keeps nothing to continue from"
    how = f"after step {state.step}; {then}"
    if signal.SIGINT in signals:
        return Interrupted(f"by Ctrl-C {how}")
    if signal.SIGUSR1 in signals:
        return StartAgain(f"by SIGUSR1 {how}")
    names = [signal.Signals(number).name for number in dict.fromkeys(signals)]
    return Terminated(f"by {' and '.join(names) or 'a signal'} {how}")


def stopping_signals() -> list[signal.Signals]:
    """SIGTERM, Ctrl-C, a terminal that goes away, and SIGUSR1, except those that its parent made it ignore
    (nohup, or a script that runs it in the background)."""
    known = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
    return [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]

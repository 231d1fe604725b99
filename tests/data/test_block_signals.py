import os
import signal
import subprocess
import sys
import threading

import pytest

from trimtab.data.block_signals import FOR_THE_GROUP, block_signals


@pytest.fixture
def heard():
    """The numbers of signals that were handled here, in their order."""
    came = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number)) for number in FOR_THE_GROUP
    }
    yield came
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", FOR_THE_GROUP)
def test_what_comes_in_the_body_is_handled_after_it(heard, number):
    with block_signals():
        os.kill(os.getpid(), number)
        assert heard == []
    assert heard == [number]
    os.kill(os.getpid(), number)
    assert heard == [number, number]


def test_a_ctrl_c_that_another_thread_takes_does_not_break_off_the_body_either(heard):
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()  # it blocks no signal
    taken, says = os.pipe()
    os.set_blocking(says, False)
    before = signal.set_wakeup_fd(says)
    with block_signals():
        signal.pthread_kill(thread.ident, signal.SIGINT)
        os.read(taken, 1)
        assert heard == []
    assert heard == [signal.SIGINT]
    signal.set_wakeup_fd(before)
    done.set()
    thread.join()


def test_handlers_and_blocked_signals_are_afterwards_what_they_were(heard):
    before = [signal.getsignal(number) for number in FOR_THE_GROUP]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with block_signals(), block_signals():
        pass
    assert [signal.getsignal(number) for number in FOR_THE_GROUP] == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


BORN = "import signal; print(*sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))))"
BORN_AND_IGNORING = """
from trimtab.data.block_signals import FOR_THE_GROUP, ignore_for_good
import signal
ignore_for_good()
for number in FOR_THE_GROUP:
    signal.raise_signal(number)
print(*signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""


def says(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_a_process_that_is_started_in_the_body_is_born_with_them_blocked():
    with block_signals():
        born = says(BORN)
    assert set(map(int, FOR_THE_GROUP)) <= set(map(int, born.split()))


def test_it_can_ignore_them_for_good():
    with block_signals():
        assert says(BORN_AND_IGNORING) == "\n"

import signal
import subprocess
import sys
import threading

import pytest

from tests.for_each import for_each
from trimtab.cli.stop_signals import run_stoppable

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGUSR1: 99}
LINES = {
    signal.SIGINT: "stopped: by Ctrl-C\n",
    signal.SIGTERM: "stopped: by SIGTERM\n",
    signal.SIGHUP: "stopped: by the end of its terminal\n",
    signal.SIGUSR1: "stopped: by SIGUSR1\n",
}


def run(body, *, before=""):
    """A process whose command has this body."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    code = f"""
import os, signal, sys, threading, time
from trimtab.cli import stop_signals
{before}
def send(number):
    os.kill(os.getpid(), number)
def command():
{lines}
    return 0
sys.exit(stop_signals.run_stoppable(command))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, done.stdout


@for_each("number", CODES)
def test_a_signal_ends_a_command_with_one_line_and_lets_it_clean_up(number):
    body = f"""try:
    send({int(number)})
    time.sleep(60)
finally:
    print("clean")"""
    assert run(body) == (CODES[number], LINES[number], "clean\n")


@pytest.mark.parametrize(
    "caught",
    [
        "except KeyboardInterrupt: raise ImportError('made of it by a library')",
        "except BaseException: sys.exit(1)",
        "except BaseException: pass",
    ],
)
def test_whatever_becomes_of_the_exception_the_command_has_been_stopped(caught):
    body = f"""try:
    send(signal.SIGINT)
    time.sleep(60)
{caught}"""
    assert run(body)[:2] == (130, LINES[signal.SIGINT])


def test_where_python_drops_exceptions_the_process_ends_all_the_same():
    body = """class Dropped:
    def __del__(self):
        send(signal.SIGINT)
        time.sleep(60)
Dropped()
time.sleep(60)"""
    assert run(body)[:2] == (130, LINES[signal.SIGINT])


def test_a_command_that_does_not_end_is_ended_after_a_while():
    body = """try:
    send(signal.SIGTERM)
    time.sleep(60)
finally:
    time.sleep(60)"""
    assert run(body, before="stop_signals.GRACE_SECONDS = 0.1")[:2] == (143, LINES[signal.SIGTERM])


def test_a_second_signal_ends_it_at_once():
    body = """try:
    send(signal.SIGINT)
    time.sleep(60)
finally:
    send(signal.SIGINT)
    time.sleep(60)"""
    assert run(body)[:2] == (130, LINES[signal.SIGINT])


def test_a_library_that_the_main_thread_is_in_is_not_waited_for():
    # A lock that is taken twice: no code of Python runs in the main thread any more, and so no handler of a signal.
    body = """threading.Timer(0.1, send, [signal.SIGTERM]).start()
library, lock = ctypes.CDLL(None), ctypes.create_string_buffer(64)
library.pthread_mutex_lock(lock)
library.pthread_mutex_lock(lock)"""
    before = "import ctypes\nstop_signals.GRACE_SECONDS = 0.1"
    assert run(body, before=before)[:2] == (143, LINES[signal.SIGTERM])


def test_a_command_that_takes_signals_itself_is_left_alone():
    body = """signal.signal(signal.SIGINT, lambda *_: print("taken"))
send(signal.SIGINT)
time.sleep(0.3)"""
    assert run(body, before="stop_signals.GRACE_SECONDS = 0.0") == (0, "", "taken\n")


def test_signals_that_are_ignored_stay_so():
    body = "send(signal.SIGHUP)\nsend(signal.SIGINT)"
    before = "for number in (signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)"
    assert run(body, before=before)[:2] == (0, "")


def test_without_a_signal_nothing_is_different():
    assert run("pass") == (0, "", "")
    assert run("sys.exit(3)")[0] == 3
    code, said, _ = run("raise ValueError('a bug')")
    assert code == 1
    assert said.endswith("ValueError: a bug\n")


def test_outside_of_the_main_thread_a_command_runs_as_any_function():
    results = []
    thread = threading.Thread(target=lambda: results.append(run_stoppable(lambda: 7)))
    thread.start()
    thread.join()
    assert results == [7]


def test_a_signal_while_python_clears_up_changes_no_exit_code():
    code = (
        "import atexit, os, signal, sys\n"
        "from trimtab.cli.stop_signals import run_stoppable\n"
        "class Late:\n"
        "    def __init__(self):\n"
        "        self.kill, self.own = os.kill, os.getpid()\n"
        "    def __del__(self):\n"
        "        self.kill(self.own, 2)\n"
        "late = Late()\n"
        "sys.exit(run_stoppable(lambda: 0))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")

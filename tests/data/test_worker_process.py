import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.data.fake_feed import fake_feed
from trimtab.data import worker_process
from trimtab.data.block_signals import FOR_THE_GROUP
from trimtab.data.loader import chunks
from trimtab.data.worker_process import context, started
from trimtab.errors import RunFailed


class DefinedInTheScript:
    """Stands for a part whose class no worker can import."""

    def __reduce__(self):
        raise TypeError("cannot import")


def test_a_part_that_cannot_be_sent_to_workers_is_named_before_anything_is_read():
    with pytest.raises(RunFailed, match="cannot import"):
        next(chunks(fake_feed(pipeline=_with_apply(DefinedInTheScript())), from_position=0, workers=1))
    assert not multiprocessing.active_children()


def _with_apply(part):
    part.needs_random = False
    part.of = lambda corpus: part
    part.apply = lambda source, target, rng, line=None: (source, target)
    return part


def test_a_worker_is_no_fork_of_this_process_and_ends_with_it():
    receiver, sender = context().Pipe(duplex=False)
    with sender:
        process = started(tell_parent, sender, name="told")
    assert receiver.recv() != os.getpid()
    process.join(20)
    assert (process.exitcode, process.daemon, process.name) == (0, True, "told")


def tell_parent(pipe):
    pipe.send(os.getppid())


def test_a_signal_to_the_group_is_for_this_process_even_before_the_work_begins():
    receiver, sender = context().Pipe(duplex=False)
    with sender:
        process = started(tell_parent, sender, name="told")
    for number in FOR_THE_GROUP:
        os.kill(process.pid, number)
    assert receiver.recv() != os.getpid()
    process.join(20)
    assert process.exitcode == 0


PREPARED = """
import os
from multiprocessing import forkserver
from trimtab.data.worker_process import prepare, started

prepare()
server = forkserver._forkserver._forkserver_pid
process = started(os._exit, 7, name="told")
process.join(20)
print(server is not None, server == forkserver._forkserver._forkserver_pid, process.exitcode)
"""


FORKSERVER = pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods(), reason="no process forks workers here"
)


@FORKSERVER
def test_what_keeps_it_from_being_prepared_is_left_for_the_first_worker_to_tell(monkeypatch):
    def too_long():
        raise OSError("AF_UNIX path too long")

    monkeypatch.setattr(worker_process.forkserver, "ensure_running", too_long)
    worker_process.prepare()


@FORKSERVER
def test_a_process_that_was_prepared_forks_the_workers():
    done = subprocess.run([sys.executable, "-c", PREPARED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "7"]


LEADER = """
import os, signal, time
from trimtab.data.worker_process import started
process = started(time.sleep, 600, name="hangs")
print(process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_process_that_hangs_ends_with_the_one_that_started_it():
    done = subprocess.run([sys.executable, "-c", LEADER], capture_output=True, text=True, check=False)
    worker = int(done.stdout)
    until = time.monotonic() + 60
    while is_there(worker) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_there(worker)
    assert done.stderr == ""


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_signal_that_comes_while_a_process_starts_leaves_none_behind(monkeypatch):
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    start = type(context().Process()).start

    def start_and_be_told(process):
        start(process)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(type(context().Process()), "start", start_and_be_told)
    try:
        with pytest.raises(SystemExit):
            started(time.sleep, 600, name="hangs")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not multiprocessing.active_children()

import os
import signal
from pathlib import Path

import pytest

from tests.children import run_in_child, start_child, wait
from tests.forking import forked, needs_threads_counted
from trimtab.checkpoint import lock as locking
from trimtab.checkpoint.lock import Lock
from trimtab.errors import InputError, RunFailed


def refused_in_child(folder: Path, *, words: str) -> bool:
    def work() -> None:
        with pytest.raises(InputError, match=words):
            Lock(folder)

    return run_in_child(work) == 0


def taken_in_child(folder: Path) -> bool:
    return run_in_child(lambda: Lock(folder) and None) == 0


def test_a_second_process_is_told_which_one_holds_the_lock(tmp_path: Path):
    lock = Lock(tmp_path)
    assert refused_in_child(tmp_path, words=rf"another process is training in .*\n.*process {os.getpid()} on")
    lock.release()
    assert taken_in_child(tmp_path)
    lock.release()


@needs_threads_counted
def test_a_process_that_is_killed_leaves_no_lock_even_while_its_worker_lives_on(tmp_path: Path):
    reader, writer = os.pipe()

    def train_with_a_worker(writer: int) -> None:
        lock = Lock(tmp_path)
        worker = forked(signal.pause)
        os.write(writer, str(worker).encode())
        signal.pause()
        lock.release()

    trainer = start_child(train_with_a_worker, writer)
    worker = int(os.read(reader, 20))
    try:
        assert refused_in_child(tmp_path, words=f"process {trainer.pid} on")
        os.kill(trainer.pid, signal.SIGKILL)
        assert wait(trainer) == -signal.SIGKILL
        os.kill(worker, 0)  # still there
        assert taken_in_child(tmp_path)
    finally:
        os.kill(worker, signal.SIGKILL)
        os.close(reader)
        os.close(writer)


def link_elsewhere(path: Path) -> None:
    path.symlink_to(path.parent / "precious")


def link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "new")


@pytest.mark.parametrize("make", [link_elsewhere, link_to_nothing, os.mkfifo, Path.mkdir])
def test_what_is_no_plain_file_is_no_lock_and_is_not_written_through(tmp_path: Path, make):
    (tmp_path / "precious").write_text("mine")
    make(tmp_path / ".lock")
    with pytest.raises(InputError, match=r"\.lock is not a plain file"):
        Lock(tmp_path)
    assert (tmp_path / "precious").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == [".lock", "precious"]


def test_a_lock_that_is_another_file_as_well_is_taken_but_not_signed(tmp_path: Path):
    (tmp_path / "precious").write_text("mine")
    os.link(tmp_path / "precious", tmp_path / ".lock")
    lock = Lock(tmp_path)
    assert refused_in_child(tmp_path, words="another process is training")
    lock.release()
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_lock_file_of_a_dead_process_is_no_lock(tmp_path: Path):
    (tmp_path / ".lock").write_text("1 on another machine, long ago\n")
    Lock(tmp_path).release()
    assert (tmp_path / ".lock").read_text().startswith(f"{os.getpid()} on ")


def test_a_file_system_without_locks_is_put_up_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(locking.fcntl, "lockf", no_locks)
    Lock(tmp_path).release()


def no_locks(*_: object) -> None:
    raise OSError(37, "No locks available")


def test_a_lock_that_fails_otherwise_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(RunFailed, match="No such file"):
        Lock(tmp_path / "missing")
    monkeypatch.setattr(locking.fcntl, "lockf", fails)
    with pytest.raises(RunFailed, match="Input/output error"):
        Lock(tmp_path)


def fails(*_: object) -> None:
    raise OSError(5, "Input/output error")


def test_a_full_disk_does_not_keep_the_lock_from_being_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "pwrite", full)
    lock = Lock(tmp_path)
    assert refused_in_child(tmp_path, words="process unknown")
    lock.release()


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_signature_tells_whether_its_process_has_ended(tmp_path: Path):
    lock = Lock(tmp_path)
    own = (tmp_path / locking.LOCK).read_bytes()
    lock.release()
    assert not locking.has_ended(own)
    child = start_child(lambda: None)
    wait(child)
    ended = own.replace(str(os.getpid()).encode(), str(child.pid).encode(), 1)
    assert locking.has_ended(ended)
    elsewhere = ended.replace(b" on ", b" on another-")
    assert not any(
        map(locking.has_ended, (elsewhere, b"", b"0 on x", b"-1 on x", b"1" * 300, b"\xff on \xff"))
    )

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.checkpoint.small_run import (
    FINGERPRINTS,
    assert_equal,
    assert_whole,
    content_of,
    model_at,
    optimizer_at,
    save,
    state_at,
)
from tests.children import run_in_child, start_child, wait
from tests.forking import ended, forked, needs_threads_counted
from tests.small_run import small_sources
from trimtab.checkpoint import background as backgrounds
from trimtab.checkpoint.background import BackgroundSaver
from trimtab.checkpoint.copies import Copies, copy_now
from trimtab.checkpoint.healthy import is_marked
from trimtab.checkpoint.load import open_checkpoint
from trimtab.checkpoint.step_folders import list_steps
from trimtab.checkpoint.store import CheckpointStore
from trimtab.data.loader import chunks
from trimtab.errors import DiskFull, RunFailed
from trimtab.finding import Finding


class Told:
    """Findings, and whether each came from the thread that made this."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.findings: list[Finding] = []

    def __call__(self, finding: Finding) -> None:
        assert threading.get_ident() == self.thread
        self.findings.append(finding)

    @property
    def codes(self) -> list[str]:
        return [finding.code for finding in self.findings]


class Gate:
    """Stops whoever syncs in another thread until it is opened; a disk that is slow for as long as a test wants."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened, self.reached = threading.Event(), threading.Event()
        self.main, self.sync = threading.get_ident(), os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, descriptor: int) -> None:
        if threading.get_ident() != self.main:
            self.reached.set()
            assert self.opened.wait(60)
        self.sync(descriptor)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def store(in_memory: Path, told: Told) -> CheckpointStore:
    return CheckpointStore(in_memory / "checkpoints", keep=2, tell=told)


@pytest.fixture
def saver(store: CheckpointStore) -> Iterator[BackgroundSaver]:
    with BackgroundSaver(store) as saver:
        yield saver


@pytest.fixture
def gate(saver: BackgroundSaver, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.opened.set()
    saver.close()


def begin(saver: BackgroundSaver, step: int, *, best: int | None = None, **beside: bytes) -> None:
    saver.begin(
        state_at(step, best=best),
        model=model_at(step),
        optimizer=optimizer_at(step),
        fingerprints=FINGERPRINTS,
        beside={Path(path): content for path, content in beside.items()},
    )


def test_what_is_saved_beside_the_training_is_byte_for_byte_what_the_slow_twin_saves(
    store: CheckpointStore, saver: BackgroundSaver, in_memory: Path
):
    twin = CheckpointStore(in_memory / "twin", keep=2)
    for step, best in ((1, 1), (2, 1), (3, 3), (4, 3), (5, 3)):
        begin(saver, step, best=best)
        save(twin, step, best=best)
    saver.finish()
    assert content_of(store.folder) == content_of(twin.folder)
    assert list_steps(store.folder) == [3, 4, 5]


def test_weights_and_moments_that_change_right_after_begin_are_saved_as_they_were(
    store: CheckpointStore, saver: BackgroundSaver, gate: Gate
):
    model, optimizer, state, marks = model_at(1), optimizer_at(1), state_at(1), dict(FINGERPRINTS)
    saver.begin(state, model=model, optimizer=optimizer, fingerprints=marks)
    for tensor in (*model.values(), *optimizer.values()):
        tensor.zero_()
    state.step, state.position = 99, 99
    state.best["step"] = 99
    marks["data"] = "another"
    gate.opened.set()
    saver.finish()
    found = store.latest()
    assert_whole(found)
    assert found.load_state() == state_at(1)
    assert found.fingerprints == FINGERPRINTS


def test_begin_returns_before_anything_is_committed(
    store: CheckpointStore, saver: BackgroundSaver, gate: Gate
):
    begin(saver, 1)
    assert gate.reached.wait(60)
    assert not saver.is_idle
    assert list_steps(store.folder) == []
    saver.poll()  # does not wait either
    assert not saver.is_idle
    gate.opened.set()
    saver.finish()
    assert saver.is_idle
    assert_whole(store.latest())


def test_a_second_save_waits_for_the_first_and_drops_none(
    store: CheckpointStore, saver: BackgroundSaver, gate: Gate
):
    begin(saver, 1)
    assert gate.reached.wait(60)
    opener = threading.Timer(0.2, gate.opened.set)
    opener.start()
    begin(saver, 2)
    assert list_steps(store.folder)[0] == 1
    saver.finish()
    opener.join()
    assert list_steps(store.folder) == [1, 2]


def test_a_poll_after_the_end_leaves_nothing_under_way(saver: BackgroundSaver):
    begin(saver, 1)
    until = time.monotonic() + 60
    while not saver.is_idle and time.monotonic() < until:
        saver.poll()
    assert saver.is_idle


@pytest.mark.parametrize("call", ["poll", "finish", "begin"])
def test_a_failed_save_is_raised_where_the_loop_is_and_once(
    store: CheckpointStore, saver: BackgroundSaver, monkeypatch: pytest.MonkeyPatch, call: str
):
    begin(saver, 1)
    saver.finish()
    before = content_of(store.folder)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        begin(saver, 2)
        wait_for(saver)
    with pytest.raises(DiskFull, match="not enough disk space") as caught:
        begin(saver, 3) if call == "begin" else getattr(saver, call)()
    assert caught.value.exit_code == 75
    assert saver.is_idle
    assert content_of(store.folder) == before
    saver.poll()
    saver.finish()
    begin(saver, 3)
    saver.finish()
    assert list_steps(store.folder) == [1, 3]


def full(_: int) -> None:
    raise OSError(28, "No space left on device")


def broken(*_: object) -> None:
    raise OSError(5, "Input/output error")


def wait_for(saver: BackgroundSaver) -> None:
    """Until the thread has ended what it does, without looking at how."""
    saver._thread.submit(int).result(60)


def test_an_error_of_the_disk_is_raised_as_such(saver: BackgroundSaver, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        begin(saver, 2)
        with pytest.raises(RunFailed, match="Input/output error"):
            saver.finish()


def test_on_the_way_out_a_failure_is_told_and_not_raised(
    saver: BackgroundSaver, told: Told, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ZeroDivisionError):
        fail_while_saving(saver)
    assert told.codes == ["K911"]
    assert "not enough disk space" in told.findings[0].message
    saver.close()


def fail_while_saving(saver: BackgroundSaver) -> None:
    with saver:
        begin(saver, 2)
        raise ZeroDivisionError


def test_findings_of_the_thread_are_told_from_the_loops_thread(
    store: CheckpointStore, saver: BackgroundSaver, told: Told
):
    for step in (1, 7):
        begin(saver, step)
    begin(saver, 5)
    wait_for(saver)
    assert told.findings == []
    saver.poll()
    assert told.codes == ["K903"]  # 7 is of a branch that was left; Told asserts the thread
    assert list_steps(store.folder) == [1, 5]


def test_a_report_is_put_in_place_after_its_checkpoint_and_not_if_that_failed(
    store: CheckpointStore, saver: BackgroundSaver, in_memory: Path, monkeypatch: pytest.MonkeyPatch
):
    report = in_memory / "data_ledger.json"
    begin(saver, 1, **{str(report): b"one"})
    saver.finish()
    assert report.read_bytes() == b"one"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        begin(saver, 2, **{str(report): b"two"})
        with pytest.raises(DiskFull):
            saver.finish()
    assert report.read_bytes() == b"one"


def test_a_report_that_cannot_be_written_is_told_and_the_checkpoint_counts(
    store: CheckpointStore, saver: BackgroundSaver, told: Told, in_memory: Path
):
    begin(saver, 1, **{str(in_memory / "missing" / "data_ledger.json"): b"one"})
    saver.finish()
    assert told.codes == ["K912"]
    assert told.findings[0].message == (
        "data_ledger.json could not be written: data_ledger.json cannot be written: No such file or directory"
        f"   ({in_memory}/missing/.data_ledger.json.tmp); the checkpoint is complete"
    )
    assert_whole(store.latest())


def test_a_mark_waits_for_the_save_that_is_under_way(
    store: CheckpointStore, saver: BackgroundSaver, gate: Gate
):
    begin(saver, 1)
    saver.mark_healthy(1)
    gate.opened.set()
    saver.finish()
    found = open_checkpoint(store.folder / "step-00000001")
    assert is_marked(found.folder, found.manifest)


def test_a_copy_that_the_loop_waits_for_is_told_once(
    saver: BackgroundSaver, told: Told, monkeypatch: pytest.MonkeyPatch
):
    def without_room(tensors: dict[str, torch.Tensor]) -> Copies:
        return Copies(copy_now(tensors).tensors, out_of_memory="2.4 GB to copy, 0.8 GB free on cuda:0")

    monkeypatch.setattr(backgrounds, "copy_now", without_room)
    for step in (1, 2):
        begin(saver, step)
        assert saver.out_of_memory == "2.4 GB to copy, 0.8 GB free on cuda:0"
    assert told.codes == ["K910"]
    assert "2.4 GB to copy, 0.8 GB free on cuda:0" in told.findings[0].message
    monkeypatch.setattr(backgrounds, "copy_now", copy_now)
    begin(saver, 3)
    assert saver.out_of_memory == ""


def test_tensors_that_share_memory_are_refused_before_anything_is_begun(saver: BackgroundSaver):
    weight = torch.zeros(4, 4)
    with pytest.raises(AssertionError, match="share memory"):
        saver.begin(state_at(1), model={"a": weight, "tied": weight}, optimizer={}, fingerprints={})
    assert saver.is_idle


SAVES_AND_ENDS = """
import os, sys, time
from pathlib import Path
from tests.checkpoint.test_background import begin
from trimtab.checkpoint.background import BackgroundSaver
from trimtab.checkpoint.store import CheckpointStore

sync = os.fsync
def slow(descriptor):
    time.sleep(0.1)
    sync(descriptor)
saver = BackgroundSaver(CheckpointStore(Path(sys.argv[1]), keep=2))
os.fsync = slow
begin(saver, 1)
{end}
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        pytest.param("", 0, marks=pytest.mark.slow),
        pytest.param("sys.exit(3)", 3, marks=pytest.mark.slow),
        ("1 / 0", 1),
    ],
)
def test_a_process_that_ends_as_usual_waits_for_the_save_under_way(in_memory: Path, end: str, code: int):
    folder = in_memory / "checkpoints"
    command = [sys.executable, "-c", SAVES_AND_ENDS.format(end=end), str(folder)]
    ended = subprocess.run(command, capture_output=True, check=False, cwd=Path(__file__).parents[2])
    assert ended.returncode == code, ended.stderr
    assert_whole(CheckpointStore(folder, keep=2).latest())


def test_a_signal_that_kills_ends_the_process_at_once_and_the_older_checkpoint_is_there(in_memory: Path):
    store = CheckpointStore(in_memory / "checkpoints", keep=2)
    save(store, 1)
    reader, writer = os.pipe()

    def save_on_a_disk_that_hangs(writer: int) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as after a first SIGTERM
        saver = BackgroundSaver(store)
        os.fsync = lambda _: os.write(writer, b"x") and signal.pause()
        begin(saver, 2)
        saver.finish()

    child = start_child(save_on_a_disk_that_hangs, writer)
    assert os.read(reader, 1) == b"x"
    os.kill(child.pid, signal.SIGTERM)
    assert wait(child) == -signal.SIGTERM
    os.close(reader)
    os.close(writer)
    again = CheckpointStore(store.folder, keep=2)
    assert os.listdir(store.folder) == ["step-00000001"]
    assert_whole(again.latest())


def test_data_workers_start_and_work_while_a_save_is_under_way(
    store: CheckpointStore, saver: BackgroundSaver, gate: Gate, tmp_path: Path
):
    feed = small_sources(tmp_path)[1].feed
    begin(saver, 1)
    assert gate.reached.wait(60)
    stream = chunks(feed, from_position=0, workers=1)
    made = next(stream)
    assert np.array_equal(made.source.values, next(chunks(feed, from_position=0, workers=0)).source.values)
    stream.close()
    assert not saver.is_idle
    gate.opened.set()
    saver.finish()
    assert_whole(store.latest())


@needs_threads_counted
def test_a_process_forked_while_a_save_is_under_way_ends_and_leaves_it_alone(in_memory: Path):
    folder = in_memory / "checkpoints"

    def save_and_fork() -> None:
        store = CheckpointStore(folder, keep=2)
        with pytest.MonkeyPatch.context() as patch, BackgroundSaver(store) as saver:
            gate = Gate(patch)
            begin(saver, 1)
            assert gate.reached.wait(60)
            assert ended(forked(lambda: torch.ones(3).sum().item() and None)) == 0
            gate.opened.set()
            saver.finish()

    assert run_in_child(save_and_fork) == 0
    store = CheckpointStore(folder, keep=2)
    assert_whole(store.latest())
    assert_equal(store.latest().load_model(), model_at(1))

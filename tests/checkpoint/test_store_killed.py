"""A process that saves is really killed, at every call that changes the disk and at random moments."""

import itertools
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checkpoint.dying import dies_before_call, kill_after
from tests.checkpoint.small_run import (
    FINGERPRINTS,
    assert_whole,
    model_at,
    optimizer_at,
    save,
    state_at,
)
from tests.children import start_child, wait
from trimtab.checkpoint.background import BackgroundSaver
from trimtab.checkpoint.store import CheckpointStore


def quiet(finding: object) -> None:
    """Findings are not what these tests look at."""


def save_beside(store: CheckpointStore, step: int, *, best: int | None = None, seconds: float = 0.25) -> None:
    """As `save`, by the thread, while weights and moments continue changing."""
    model, optimizer = model_at(step), optimizer_at(step)
    saver = BackgroundSaver(store)
    saver.begin(
        state_at(step, best=best, seconds=seconds),
        model=model,
        optimizer=optimizer,
        fingerprints=FINGERPRINTS,
    )
    for tensor in (*model.values(), *optimizer.values()):
        tensor.zero_()
    saver.finish()


both_ways = pytest.mark.parametrize("save", [save, save_beside], ids=["in the loop", "beside it"])


def steps_after_every_kill(folder: Path, work: Callable[[Path], None]) -> list[int | None]:
    """The newest step that the next process finds, for a kill before each call in turn; checks what it finds."""
    found: list[int | None] = []
    for number in itertools.count():
        copy = folder.with_name(f"{folder.name}-{number}")
        if folder.exists():
            shutil.copytree(folder, copy)
        else:
            copy.mkdir()
        died = dies_before_call(number, lambda copy=copy: work(copy))
        store = CheckpointStore(copy, keep=2, tell=quiet)
        newest = store.latest()
        found.append(newest and newest.step)
        if newest:
            assert_whole(newest)
        save(store, 90)
        assert not [name for name in os.listdir(copy) if name.startswith((".draft", ".trash", ".corrupt"))]
        assert_whole(store.latest())
        shutil.rmtree(copy)
        if not died:
            return found
    raise AssertionError


@pytest.fixture
def three(in_memory: Path) -> Path:
    """A run with checkpoints 1 (the best), 2 and 3."""
    folder = in_memory / "checkpoints"
    store = CheckpointStore(folder, keep=3)
    for step in (1, 2, 3):
        save(store, step, best=1)
    return folder


@pytest.mark.quick("beside it")
@both_ways
def test_a_kill_during_the_first_save_leaves_nothing_or_a_whole_checkpoint(
    in_memory: Path, save: Callable[..., object]
):
    found = steps_after_every_kill(
        in_memory / "none", lambda folder: save(CheckpointStore(folder, keep=2, tell=quiet), 1)
    )
    assert found[0] is None
    assert found[-1] == 1
    # Once committed, always committed.
    assert found == sorted(found, key=lambda step: step or 0)
    assert len(found) > 10


@pytest.mark.slow
@both_ways
def test_a_kill_during_a_save_with_pruning_never_loses_the_newest_checkpoint(
    three: Path, save: Callable[..., object]
):
    def work(folder: Path) -> None:
        store = CheckpointStore(folder, keep=2, tell=quiet)
        assert_whole(store.latest())
        save(store, 4, best=1)
        save(store, 5, best=4)  # removes 2 (kept until now), 1 (no longer the best) and 3

    found = steps_after_every_kill(three, work)
    assert set(found) == {3, 4, 5}
    assert found == sorted(found)


@pytest.mark.quick("another state-beside it")
@both_ways
@pytest.mark.parametrize("seconds", [0.25, 9.0], ids=["the same content", "another state"])
def test_a_kill_while_the_same_step_is_saved_again_keeps_that_step(
    three: Path, seconds: float, save: Callable[..., object]
):
    found = steps_after_every_kill(
        three, lambda folder: save(CheckpointStore(folder, keep=2, tell=quiet), 3, seconds=seconds)
    )
    assert set(found) == {3}


@pytest.mark.slow
@both_ways
def test_a_kill_while_a_run_is_taken_back_leaves_it_before_or_after(three: Path, save: Callable[..., object]):
    CheckpointStore(three, keep=3, tell=quiet).mark_healthy(1)
    found = steps_after_every_kill(
        three, lambda folder: save(CheckpointStore(folder, keep=2, tell=quiet), 1, seconds=9.0)
    )
    # Older ones are seen while the newer are set aside, one after the other.
    assert set(found) == {3, 2, 1} or set(found) == {3, 1}
    assert found[-1] == 1


def test_a_kill_while_a_checkpoint_is_marked_leaves_a_mark_or_none(three: Path):
    marks = set()
    for number in itertools.count():
        copy = three.with_name(f"marked-{number}")
        shutil.copytree(three, copy)
        store = CheckpointStore(copy, keep=3, tell=quiet)
        died = dies_before_call(number, lambda store=store: store.mark_healthy(2) and None)
        healthy = CheckpointStore(copy, keep=3, tell=quiet).healthy_before(3)
        marks.add(healthy and healthy.step)
        assert_whole(store.latest())
        assert store.mark_healthy(2)
        assert store.healthy_before(3).step == 2
        if not died:
            break
    assert number > 3
    assert marks == {None, 2}


def test_a_process_that_vanishes_right_after_begin_leaves_the_older_checkpoint(three: Path):
    def begin_and_vanish() -> None:
        saver = BackgroundSaver(CheckpointStore(three, keep=3, tell=quiet))
        saver.begin(state_at(4), model=model_at(4), optimizer=optimizer_at(4), fingerprints=FINGERPRINTS)
        os._exit(9)

    for _ in range(10):
        assert wait(start_child(begin_and_vanish)) == 9
        newest = CheckpointStore(three, keep=3, tell=quiet).latest()
        assert newest.step in (3, 4)
        assert_whole(newest)


@pytest.mark.slow
def test_a_kill_while_leftovers_are_cleared_up_does_no_harm(three: Path):
    whole, torn = three / ".draft-step-00000004-1-aa", three / ".draft-step-00000005-1-bb"
    elsewhere = CheckpointStore(three.with_name("elsewhere"), keep=2)
    shutil.copytree(save(elsewhere, 4), whole)
    shutil.copytree(save(elsewhere, 5), torn)
    (torn / "manifest.json").unlink()
    shutil.copytree(three / "step-00000001", three / ".trash-step-00000001-cc")
    found = steps_after_every_kill(three, lambda folder: CheckpointStore(folder, keep=2, tell=quiet) and None)
    # The draft was complete: it is committed whichever process gets to it.
    assert set(found) == {4}


@pytest.mark.quick("beside it")
@both_ways
def test_kills_at_random_moments_never_take_a_committed_checkpoint_away(
    in_memory: Path, save: Callable[..., object]
):
    folder = in_memory / "checkpoints"
    moments = random.Random(5)
    reported = 0
    for round_number in range(25):
        reader, writer = os.pipe()
        child = start_child(lambda writer: save_for_ever(folder, writer, save), writer)
        os.close(writer)
        # Early deaths first; then, however slow the machine is, there has been a save before the moment is drawn.
        lines = os.read(reader, 1 << 16) if round_number >= 8 else b""
        assert kill_after(child, moments.uniform(0.0, 0.1)) == -9
        with open(reader, "rb") as rest:
            lines += rest.read()
        reported = max([reported, *map(int, lines.split())])
        newest = CheckpointStore(folder, keep=2, tell=quiet).latest()
        assert (newest.step if newest else 0) >= reported
        if newest:
            assert_whole(newest)
    assert reported > 5


def save_for_ever(folder: Path, writer: int, save: Callable[..., object]) -> None:
    store = CheckpointStore(folder, keep=2, tell=quiet)
    newest = store.latest()
    for step in itertools.count((newest.step if newest else 0) + 1):
        save(store, step, best=step - step % 5)
        os.write(writer, f"{step}\n".encode())

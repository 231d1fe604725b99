"""A full disk costs the checkpoint that did not fit, and nothing else."""

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.checkpoint.small_run import FINGERPRINTS, assert_whole, content_of, save, state_at
from tests.children import run_in_child
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import DiskFull, RunFailed


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
        permitted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        permitted = False
    if not permitted:
        pytest.skip("mounting a small file system is not permitted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def save_much(store: CheckpointStore, step: int, *, megabytes: float) -> Path:
    weights = {"weight": torch.ones(int(megabytes * 2**18))}
    return store.save(state_at(step), model=weights, optimizer={}, fingerprints=FINGERPRINTS)


def test_a_disk_that_is_too_small_is_seen_before_anything_is_written(small_disk: Path):
    store = CheckpointStore(small_disk / "checkpoints", keep=2)
    save(store, 1)
    before = content_of(store.folder)
    with pytest.raises(DiskFull, match=r"needed  2\.3 MB\n  free    \d") as caught:
        save_much(store, 2, megabytes=2)
    assert caught.value.exit_code == 75
    assert content_of(store.folder) == before


def test_a_disk_that_fills_while_writing_loses_the_draft_only(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
):
    store = CheckpointStore(small_disk / "checkpoints", keep=2)
    save(store, 1)
    before = content_of(store.folder)
    monkeypatch.setattr(store, "check_disk_space", lambda _: None)
    with pytest.raises(DiskFull, match="not enough disk space"):
        save_much(store, 2, megabytes=2)
    assert content_of(store.folder) == before
    assert_whole(store.latest())
    save(store, 3)  # and the run continues
    assert_whole(store.latest())


def test_asking_for_room_says_what_is_needed_and_what_is_free(in_memory: Path):
    store = CheckpointStore(in_memory / "checkpoints", keep=1)
    store.check_disk_space(0)
    with pytest.raises(DiskFull, match=r"needed  1000000\.0 TB"):
        store.check_disk_space(10**18)


def test_a_file_that_may_not_grow_fails_the_save_and_leaves_the_older_checkpoint(in_memory: Path):
    store = CheckpointStore(in_memory / "checkpoints", keep=2)
    save(store, 1)
    before = content_of(store.folder)

    def save_under_a_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        with pytest.raises(RunFailed, match="checkpoint step-00000002 cannot be written: File too large"):
            save_much(store, 2, megabytes=1)

    assert run_in_child(save_under_a_limit) == 0
    assert content_of(store.folder) == before
    assert_whole(store.latest())


@pytest.mark.parametrize("failing", range(5))
def test_a_sync_that_fails_fails_the_save(in_memory: Path, monkeypatch: pytest.MonkeyPatch, failing: int):
    store = CheckpointStore(in_memory / "checkpoints", keep=2)
    save(store, 1)
    before = content_of(store.folder)
    left, sync = failing, os.fsync

    def sync_or_fail(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(5, "Input/output error")
        sync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", sync_or_fail)
        with pytest.raises(RunFailed, match="Input/output error"):
            save(store, 2)
    assert content_of(store.folder) == before


def test_an_interrupted_save_leaves_no_draft(in_memory: Path, monkeypatch: pytest.MonkeyPatch):
    store = CheckpointStore(in_memory / "checkpoints", keep=2)
    save(store, 1)
    before = content_of(store.folder)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save(store, 2)
    assert content_of(store.folder) == before


def interrupt(_: int) -> None:
    raise KeyboardInterrupt

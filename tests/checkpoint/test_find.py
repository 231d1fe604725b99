from pathlib import Path

import pytest

from tests.checkpoint.small_run import content_of, save
from trimtab.checkpoint.find import best_step, newest, newest_before
from trimtab.checkpoint.store import CheckpointStore


@pytest.fixture
def folder(in_memory: Path) -> Path:
    store = CheckpointStore(in_memory / "checkpoints", keep=5)
    for step, best in ((1, None), (2, 2), (3, 2), (4, 4)):
        save(store, step, best=best)
    return store.folder


def test_the_newest_is_found_and_so_is_the_one_before(folder: Path):
    assert newest(folder).step == 4
    assert newest_before(folder, 3).step == 2
    assert newest_before(folder, 1) is None


def test_damaged_ones_are_passed_over_and_left_as_they_are(folder: Path):
    (folder / "step-00000004" / "manifest.json").write_bytes(b"{}")
    state = folder / "step-00000003" / "state.json"
    state.write_bytes(state.read_bytes().replace(b"0.25", b"0.75"))
    before = content_of(folder)
    assert newest(folder).step == 2
    assert best_step(folder) == 2
    assert content_of(folder) == before


def test_the_best_is_what_the_newest_knows(folder: Path):
    assert best_step(folder) == 4


def test_a_best_that_is_gone_or_never_was_is_none(in_memory: Path):
    assert best_step(in_memory / "none") is None
    store = CheckpointStore(in_memory / "checkpoints", keep=1)
    save(store, 1)
    assert best_step(store.folder) is None
    save(store, 9, best=5)
    assert best_step(store.folder) is None

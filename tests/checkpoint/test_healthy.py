import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checkpoint.small_run import save
from trimtab.checkpoint.healthy import HEALTHY, is_marked, put_mark
from trimtab.checkpoint.load import Checkpoint, open_checkpoint
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import RunFailed


@pytest.fixture
def marked(in_memory: Path) -> Checkpoint:
    store = CheckpointStore(in_memory / "checkpoints", keep=2)
    found = open_checkpoint(save(store, 4))
    assert not is_marked(found.folder, found.manifest)
    put_mark(found.folder, found.manifest)
    return found


def test_a_mark_is_found_again_and_is_no_foreign_file(marked: Checkpoint):
    assert is_marked(marked.folder, marked.manifest)
    assert marked.other_files() == []
    marked.verify()


def test_marking_again_changes_nothing(marked: Checkpoint):
    before = (marked.folder / HEALTHY).read_bytes()
    put_mark(marked.folder, marked.manifest)
    assert (marked.folder / HEALTHY).read_bytes() == before


def cut_off(mark: Path) -> None:
    mark.write_bytes(mark.read_bytes()[:-1])


def lengthen(mark: Path) -> None:
    mark.write_bytes(mark.read_bytes() + b"\n")


def flip_a_bit(mark: Path) -> None:
    content = mark.read_bytes()
    mark.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])


def link(mark: Path) -> None:
    os.rename(mark, mark.parents[2] / "elsewhere")
    mark.symlink_to(mark.parents[2] / "elsewhere")


def make_a_folder(mark: Path) -> None:
    mark.unlink()
    mark.mkdir()


def make_a_pipe(mark: Path) -> None:
    mark.unlink()
    os.mkfifo(mark)


def empty(mark: Path) -> None:
    mark.write_bytes(b"")


@pytest.mark.parametrize(
    "damage", [Path.unlink, empty, cut_off, lengthen, flip_a_bit, link, make_a_folder, make_a_pipe]
)
def test_a_mark_that_is_not_whole_marks_nothing(marked: Checkpoint, damage: Callable[[Path], None]):
    damage(marked.folder / HEALTHY)
    assert not is_marked(marked.folder, marked.manifest)


def test_the_mark_of_another_checkpoint_marks_nothing(marked: Checkpoint):
    store = CheckpointStore(marked.folder.parent, keep=2)
    other = open_checkpoint(save(store, 5))
    (other.folder / HEALTHY).write_bytes((marked.folder / HEALTHY).read_bytes())
    assert not is_marked(other.folder, other.manifest)


def test_a_mark_that_cannot_be_written_is_said(marked: Checkpoint):
    make_a_folder(marked.folder / HEALTHY)
    with pytest.raises(RunFailed, match="healthy cannot be written"):
        put_mark(marked.folder, marked.manifest)

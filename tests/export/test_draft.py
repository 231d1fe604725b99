import os

import pytest

from trimtab.errors import InputError, NoRoom
from trimtab.export.draft import check_place, draft_folder, sync_tree


def test_a_folder_appears_at_the_end_and_what_a_killed_export_left_is_gone(tmp_path):
    out = tmp_path / "deep" / "out"
    left = out.with_name(".out.draft")
    left.mkdir(parents=True)
    (left / "old").write_text("")
    with draft_folder(out) as draft:
        assert os.listdir(draft) == []
        (draft / "inside").mkdir()
        (draft / "inside" / "a").write_text("b")
        assert not out.exists()
    assert (out / "inside" / "a").read_text() == "b"
    assert os.listdir(out.parent) == ["out"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_nothing(tmp_path, error):
    def write():
        with draft_folder(tmp_path / "out") as draft:
            (draft / "a").write_text("b")
            raise error

    with pytest.raises(error):
        write()
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    with pytest.raises(NoRoom), draft_folder(tmp_path / "out"):
        raise OSError(28, os.strerror(28))
    assert os.listdir(tmp_path) == []


def test_what_somebody_made_there_meanwhile_stays(tmp_path):
    def write():
        with draft_folder(tmp_path / "out"):
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "mine").write_text("")

    with pytest.raises(InputError, match="is there already"):
        write()
    assert os.listdir(tmp_path / "out") == ["mine"]
    assert os.listdir(tmp_path) == ["out"]


def test_a_place_below_a_file_is_wrong_input(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match="no folder can be made there"),
        draft_folder(tmp_path / "file" / "out"),
    ):
        raise AssertionError("the folder was made")


def test_a_link_into_the_run_is_seen_through(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "run")
    for place in (tmp_path / "run" / "out", tmp_path / "link" / "out", tmp_path / "x" / ".." / "run" / "out"):
        with pytest.raises(InputError, match="inside the run"):
            check_place(place, run=tmp_path / "run")
    check_place(tmp_path / "run2", run=tmp_path / "run")


def test_a_tree_is_synced_file_by_file(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_text("c")
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    sync_tree(tmp_path)
    assert len(synced) == 3, "one file and two folders"

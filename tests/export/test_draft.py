import os
import signal
import threading
import time

import pytest

from trimtab.errors import DiskFull, InputError, Terminated
from trimtab.export.draft import check_place, draft_folder, sync_tree


def test_a_folder_appears_at_the_end_and_what_others_left_beside_it_stays(tmp_path):
    out = tmp_path / "deep" / "out"
    left = out.with_name(".out.draft")
    left.mkdir(parents=True)
    (left / "mine").write_text("")
    with draft_folder(out) as draft:
        assert os.listdir(draft) == []
        (draft / "inside").mkdir()
        (draft / "inside" / "a").write_text("b")
        assert not out.exists()
    assert (out / "inside" / "a").read_text() == "b"
    assert sorted(os.listdir(out.parent)) == [".out.draft", "out"]
    assert os.listdir(left) == ["mine"]


def test_of_two_at_once_the_first_to_end_takes_the_name_and_the_other_is_told(tmp_path):
    def late():
        with draft_folder(tmp_path / "out") as mine:
            (mine / "a").write_text("late")
            with draft_folder(tmp_path / "out") as other:
                assert other != mine
                (other / "a").write_text("early")

    with pytest.raises(InputError, match="already exists"):
        late()
    assert (tmp_path / "out" / "a").read_text() == "early"
    assert os.listdir(tmp_path) == ["out"]


def test_an_empty_folder_that_somebody_made_meanwhile_is_not_replaced(tmp_path):
    def write():
        with draft_folder(tmp_path / "out") as draft:
            (draft / "a").write_text("b")
            (tmp_path / "out").mkdir()

    with pytest.raises(InputError, match="already exists"):
        write()
    assert os.listdir(tmp_path / "out") == []


def test_a_very_long_name_is_no_trouble(tmp_path):
    with draft_folder(tmp_path / ("ü" * 120)) as draft:
        (draft / "a").write_text("b")
    assert os.listdir(tmp_path) == ["ü" * 120]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_and_is_what_it_was_afterwards(tmp_path, number):
    def write():
        with draft_folder(tmp_path / "out") as draft:
            (draft / "a").write_text("b")
            os.kill(os.getpid(), number)
            time.sleep(5)

    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(Terminated, match="nothing was written"):
            write()
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert os.listdir(tmp_path) == []


def test_signals_that_somebody_handles_stay_theirs(tmp_path):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        with draft_folder(tmp_path / "out"):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [1]
    assert (tmp_path / "out").is_dir()


def test_a_thread_makes_folders_too(tmp_path):
    def write():
        with draft_folder(tmp_path / "out") as draft:
            (draft / "a").write_text("b")

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert os.listdir(tmp_path / "out") == ["a"]


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
    with pytest.raises(DiskFull) as caught, draft_folder(tmp_path / "out"):
        raise OSError(28, os.strerror(28))
    assert "another disk by --out" in str(caught.value)
    assert "--resume" not in str(caught.value)
    assert "needed" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_what_somebody_made_there_meanwhile_stays(tmp_path):
    def write():
        with draft_folder(tmp_path / "out"):
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "mine").write_text("")

    with pytest.raises(InputError, match="already exists"):
        write()
    assert os.listdir(tmp_path / "out") == ["mine"]
    assert os.listdir(tmp_path) == ["out"]


def test_a_place_below_a_file_is_wrong_input(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match="the folder cannot be created"),
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

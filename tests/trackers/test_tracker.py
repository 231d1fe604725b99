import os
from pathlib import Path

from trimtab.trackers.tensorboard import TensorBoard
from trimtab.trackers.tracker import TrackedRun, Tracker


def test_a_run_is_called_as_its_folder_however_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "my").mkdir()
    monkeypatch.chdir(tmp_path / "my")
    assert TrackedRun(Path(), {}).name == TrackedRun(tmp_path / "my", {}).name == "my"
    os.symlink(tmp_path / "my", tmp_path / "link")
    assert TrackedRun(tmp_path / "link", {}).name == "my"


def test_what_cannot_begin_again_is_no_tracker():
    words = {"run_id": "", "log": print, "close": print}
    assert not isinstance(type("Half", (), words)(), Tracker)
    assert isinstance(type("Whole", (), words | {"begin_at": print})(), Tracker)
    assert {"begin_at", "log", "close"} <= set(vars(TensorBoard))

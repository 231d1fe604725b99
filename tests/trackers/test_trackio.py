"""Against Trackio's own database."""

import pytest

from trimtab.trackers.tracker import Record, TrackedRun

pytestmark = pytest.mark.slow


def test_trackio_has_each_step_and_resumes_the_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip("trackio", reason="pip install trackio")
    from trimtab.trackers.trackio import Trackio

    run = TrackedRun(tmp_path / "my", {"seed": 1}, free_id="1a2b")
    first = Trackio(run)
    first.log([Record(step, 100.0, {"train/loss": 9.0 - step}) for step in range(1, 4)])
    first.close()
    again = Trackio(TrackedRun(tmp_path / "my", {}, known_id=first.run_id))
    again.log([Record(4, 100.0, {"train/loss": 5.0})])
    again.close()
    from trackio.sqlite_storage import SQLiteStorage

    (name,) = SQLiteStorage.get_runs("trimtab")
    assert name == "my-1a2b"
    rows = [(each["step"], each["train/loss"]) for each in SQLiteStorage.get_logs("trimtab", name)]
    assert rows == [(1, 8.0), (2, 7.0), (3, 6.0), (4, 5.0)]
    assert capsys.readouterr().out == ""

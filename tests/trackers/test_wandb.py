"""What is asked of wandb, with a stand-in for its module; the package itself in offline mode is a slow test."""

import sys
from types import SimpleNamespace

import pytest

from trimtab.trackers.tracker import Record, TrackedRun
from trimtab.trackers.wandb import WeightsAndBiases, has_key


@pytest.fixture
def without_key(monkeypatch, tmp_path):
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_NAME", "WANDB_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


def test_the_run_goes_on_under_its_id_and_nobody_is_asked_for_a_key(tmp_path, monkeypatch, without_key):
    asked, rows = [], []
    run = SimpleNamespace(
        define_metric=lambda *a, **k: None, log=rows.append, finish=lambda: rows.append("end")
    )
    fake = SimpleNamespace(init=lambda **given: asked.append(given) or run, Settings=lambda **given: given)
    monkeypatch.setitem(sys.modules, "wandb", fake)
    tracker = WeightsAndBiases(
        TrackedRun(tmp_path / "my", {"length": "4 steps"}, known_id="", free_id="1a2b")
    )
    tracker.log([Record(3, 5.0, {"train/loss": 2.0})])
    tracker.close()
    assert asked[0]["id"] == tracker.run_id == "1a2b"
    assert (asked[0]["resume"], asked[0]["mode"], asked[0]["name"]) == ("allow", "offline", "my")
    assert asked[0]["config"] == {"length": "4 steps"}
    assert rows == [{"train/loss": 2.0, "step": 3, "_timestamp": 5.0}, "end"]
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    again = WeightsAndBiases(TrackedRun(tmp_path / "my", {}, known_id="old", free_id="new"))
    assert again.run_id == "old"
    assert asked[1]["mode"] is None


def test_a_key_is_found_where_wandb_looks_for_it(monkeypatch, tmp_path, without_key):
    assert not has_key()
    (tmp_path / "netrc").write_text("machine api.wandb.ai login user password secret\n")
    assert has_key()
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org")
    assert not has_key()
    (tmp_path / "netrc").write_text("no such word\n")
    assert not has_key()


@pytest.mark.slow
def test_wandb_keeps_the_run_offline_and_resumes_it(tmp_path, without_key):
    pytest.importorskip("wandb", reason="pip install wandb")
    from wandb.proto.wandb_internal_pb2 import Record as Logged

    from trimtab.trackers.trackers import Trackers

    found = []
    for begin in (0, 3):
        trackers = Trackers(["wandb"], TrackedRun(tmp_path, {"seed": 1}), tell=found.append, closing_s=90.0)
        trackers.begin_at(begin)
        for step in range(begin + 1, begin + 5):
            trackers.log("train", step, {"loss": 9.0 - step})
        trackers.close()
    assert found == []
    folders = sorted((tmp_path / "wandb").glob("offline-run-*"))
    assert len(folders) == 2
    (name,) = {each.name.rpartition("-")[2] for each in folders}
    rows = []
    for folder in folders:
        for data in records_of(next(folder.glob("run-*.wandb")).read_bytes()):
            record = Logged()
            record.ParseFromString(data)
            if record.HasField("run"):
                assert record.run.run_id == name
            for item in record.history.item:
                if (item.key or item.nested_key[0]) == "train/loss":
                    rows.append(float(item.value_json))
    assert rows == [8.0, 7.0, 6.0, 5.0, 5.0, 4.0, 3.0, 2.0]


def records_of(content: bytes) -> list[bytes]:
    """The records of a log in the format of LevelDB, after wandb's seven bytes of its own."""
    found, at, begun = [], 7, b""
    while at + 7 <= len(content):
        if 32768 - at % 32768 < 7:  # the rest of a block is too short for a header
            at += 32768 - at % 32768
            continue
        size, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        begun, at = begun + content[at + 7 : at + 7 + size], at + 7 + size
        if kind in (1, 4):  # whole, or the last part
            found.append(begun)
            begun = b""
    return found

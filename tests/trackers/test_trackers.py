import errno
import json
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.short_run import SHORT, log, model_sha
from tests.small_run import small_recipe
from trimtab.trackers import trackers as module
from trimtab.trackers.tracker import TrackedRun
from trimtab.trackers.trackers import IDS, Trackers, flat, known_ids


@dataclass
class Kept:
    """A tracker that keeps what it is given, or does what `then` says."""

    run: TrackedRun
    run_id: str = "the id"
    seen: list[Any] = field(default_factory=list)
    then: Any = None

    def begin_at(self, step):
        self.seen.append(("begin", step))

    def log(self, records):
        if self.then:
            self.then()
        self.seen += [(each.step, dict(each.values)) for each in records]

    def close(self):
        self.seen.append("closed")


@pytest.fixture
def opened(tmp_path):
    """Opens one tracker of a run; gives it, what it was told, and the findings."""

    def run(*, then=None, opening=None, closing_s=20.0, name="tensorboard") -> tuple[Trackers, list, list]:
        made, found = [], []

        def open_one(name, about):
            if opening:
                opening()
            made.append(Kept(about, then=then))
            return made[-1]

        settings = {"length": "4 steps"}
        about = TrackedRun(tmp_path, settings)
        return (
            Trackers([name], about, tell=found.append, open_one=open_one, closing_s=closing_s),
            made,
            found,
        )

    return run


def test_numbers_arrive_in_order_under_their_names(opened):
    trackers, made, found = opened()
    trackers.begin_at(0)
    for step in range(1, 8):
        trackers.log("train", step, {"step": step, "loss": 2.0, "skipped": False, "refused": "word"})
    trackers.log("dev", 7, {"step": 7, "set": "dev", "chrf": 48})
    trackers.close()
    assert found == []
    assert made[0].seen[0] == ("begin", 0)
    assert made[0].seen[1:8] == [(step, {"train/loss": 2.0, "train/skipped": 0.0}) for step in range(1, 8)]
    assert made[0].seen[8:] == [(7, {"dev/chrf": 48.0}), "closed"]
    assert found == []


def test_a_resumed_run_goes_on_under_the_same_id(opened, tmp_path):
    first, made, _ = opened()
    first.begin_at(0)
    first.close()
    assert made[0].run.known_id == ""
    assert known_ids(tmp_path) == {"tensorboard": "the id"}
    again, made, _ = opened()
    again.begin_at(40)
    again.close()
    assert made[0].run.known_id == "the id"
    assert made[0].seen == [("begin", 40), "closed"]


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b'{"wandb": 3}', b"[" * 100_000])
def test_ids_that_cannot_be_read_are_none(tmp_path, content):
    (tmp_path / IDS).write_bytes(content)
    assert known_ids(tmp_path) == {}


def full():
    raise OSError(errno.ENOSPC, "No space left on device")


def leaves():
    raise SystemExit(3)


@pytest.mark.parametrize("fault", [full, leaves], ids=["full disk", "exit"])
@pytest.mark.parametrize("when", ["opening", "then"])
def test_a_tracker_that_raises_is_given_up_with_one_finding(opened, fault, when):
    trackers, _, found = opened(**{when: fault})
    for step in range(1, 4):
        trackers.log("train", step, {"loss": 2.0})
    trackers.close()
    trackers.log("train", 5, {"loss": 2.0})
    assert [each.code for each in found] == ["K913"]
    assert found[0].severity == "warning"
    assert found[0].message.startswith("tensorboard: ")


def test_a_tracker_that_blocks_holds_nobody_up(opened, monkeypatch):
    monkeypatch.setattr(module, "MOST_WAITING", 50)
    blocked = threading.Event()
    trackers, _, found = opened(opening=blocked.wait, closing_s=0.05)
    for step in range(200):
        trackers.log("train", step, {"loss": 2.0})
    trackers.close()
    blocked.set()
    assert [each.code for each in found] == ["K914", "K913"]
    assert "50 records behind" in found[0].message
    assert "had not taken everything" in found[1].message


def test_without_trackers_there_is_no_thread_and_no_file(tmp_path):
    before = threading.active_count()
    trackers = Trackers([], TrackedRun(tmp_path, {}), tell=pytest.fail)
    trackers.begin_at(0)
    trackers.log("train", 1, {"loss": 2.0})
    trackers.close()
    assert threading.active_count() == before
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_becomes_dotted_keys():
    tree = {"step": {"clip": {"at": 1.0, "off": None}, "betas": [0.9, 0.98]}, "x": float("inf")}
    assert flat(tree) == {"step.clip.at": 1.0, "step.betas": "[0.9, 0.98]", "x": "inf"}


@pytest.mark.slow
def test_a_run_with_bad_trackers_learns_the_same(recipe, tmp_path, monkeypatch):
    """One raises, one fills the disk, one blocks: weights and metrics are those of a run without trackers."""
    from trimtab.launch import train

    blocked = threading.Event()
    faults = {"tensorboard": full, "wandb": leaves, "mlflow": blocked.wait}

    def open_one(name, about):
        assert about.settings["length"] == "4 steps"
        return Kept(about, then=faults[name])

    monkeypatch.setattr(module, "open_tracker", open_one)
    monkeypatch.setattr(module, "CLOSING_S", 0.3)
    monkeypatch.setattr("trimtab.training.early_checks.find_spec", lambda name: name)
    plain = train(recipe, out=tmp_path / "plain")
    result = train(recipe, overrides=["log=[tensorboard, wandb, mlflow]"], out=tmp_path / "run")
    blocked.set()
    assert model_sha(tmp_path / "run", 4) == model_sha(tmp_path / "plain", 4)
    assert log(tmp_path / "run", "metrics") == log(tmp_path / "plain", "metrics")
    codes = [each["code"] for each in log(tmp_path / "run", "findings")]
    assert codes.count("K913") == 3
    assert result.ok
    assert plain.ok
    assert set(json.loads((tmp_path / "run" / IDS).read_text())) == {"tensorboard", "wandb", "mlflow"}


@pytest.mark.slow
def test_a_missing_package_is_told_before_anything_is_trained(tmp_path, monkeypatch):
    from trimtab.errors import InputError
    from trimtab.launch import train

    recipe = small_recipe(tmp_path, **SHORT, log=["trackio", "wandb"])
    monkeypatch.setattr("trimtab.training.early_checks.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install trackio wandb, or take trackio and wandb out"):
        train(recipe, out=tmp_path / "run")

import json
import sys
import time
from pathlib import Path

import pytest

from trimtab.errors import RunFailed
from trimtab.lab import pool
from trimtab.lab.pool import Budget, Cache, make_all
from trimtab.lab.runs import Run

FAKE = """
import json, subprocess, sys, time
for line in sys.stdin:
    job = json.loads(line)
    way = job["overrides"]["way"]
    if way == "hangs":
        subprocess.Popen(["sleep", "3600"])  # holds the pipes, as a data worker would
        time.sleep(3600)
    if way == "dies":
        sys.exit(7)
    if way == "half a line":
        print('{"ended": ')
        sys.exit()
    print(json.dumps({"key": job["key"], "ended": way, "error": "why", "seconds": 1.0}), flush=True)
"""


@pytest.fixture
def make(monkeypatch, tmp_path):
    """Makes runs that end as they are told to, by processes that train nothing."""
    monkeypatch.setattr(pool, "WORKER", (sys.executable, "-I", "-S", "-c", FAKE))
    told = []

    def call(*ways, budget=None, parallel=2, keys=None):
        runs = [
            Run(arm=way, seed=i, recipe=Path("tiny.yaml"), overrides={"way": way}, key=(keys or ways)[i])
            for i, way in enumerate(ways)
        ]
        told.clear()
        return make_all(
            runs, cache=Cache(tmp_path / "runs", "here"), parallel=parallel, device="cpu",
            budget=budget or Budget(None), told=lambda run, record: told.append((run.arm, record)),
        )  # fmt: skip

    call.told, call.folder = told, tmp_path / "runs"
    return call


class EndsWithTheFirstRun(Budget):
    """A budget that needs no clock: it is over when a run has ended."""

    def fits(self, run):
        return True

    @property
    def rest(self):
        return 0.0 if self.lasted else None


def test_runs_that_are_the_same_are_made_once_and_kept(make):
    records = make("finished", "failed", "finished", keys=["a", "b", "a"])
    assert {key: record["ended"] for key, record in records.items()} == {"a": "finished", "b": "failed"}
    assert len(make.told) == 2
    assert make("finished", "failed", keys=["a", "b"]) == records
    assert make.told == []


def test_a_run_that_hangs_is_stopped_when_the_budget_ends_and_not_kept(make):
    records = make("finished", "hangs", "hangs", budget=EndsWithTheFirstRun(60.0), parallel=2)
    assert set(records) == {"finished"}
    (_, first), (arm, last), *rest = make.told
    assert (first["ended"], arm, last["ended"]) == ("finished", "hangs", "stopped")
    assert "the budget ran out" in last["error"]
    assert len(rest) <= 1
    assert [path.name for path in make.folder.glob("*.json")] == ["finished-here.json"]
    assert not [path for path in make.folder.iterdir() if path.is_dir()]


def test_a_run_whose_process_dies_is_named_and_the_others_are_made(make):
    with pytest.raises(RunFailed, match=r"3 runs did not complete; the first one: arm 'dies', seed 0"):
        make("dies", "finished", "half a line", "failed", "refused", parallel=1)
    assert [record["ended"] for _, record in make.told] == [
        "stopped", "finished", "stopped", "failed", "refused"
    ]  # fmt: skip
    assert "exited with code 7; see" in make.told[0][1]["error"]
    assert len(list(make.folder.glob("*.json"))) == 2


def test_nothing_is_begun_without_time(make):
    assert make("finished", budget=Budget(10.0, begun=time.monotonic() - 11)) == {}
    assert make.told == []


def test_a_run_is_begun_if_others_of_its_arm_or_most_runs_would_end_in_time():
    now, slow, quick, new = time.monotonic(), run_of("slow"), run_of("quick"), run_of("new")
    budget = Budget(100.0, begun=now)
    assert budget.fits(new)
    for run, seconds in ((slow, 101.0), (quick, 20.0), (quick, 30.0), (run_of("other"), 40.0)):
        budget.took(run, seconds)
    assert [budget.fits(run) for run in (slow, quick, new)] == [False, True, True]
    budget.begun = now - 65.0
    assert [budget.fits(run) for run in (slow, quick, new)] == [False, True, False]
    assert Budget(100.0, begun=now).rest == pytest.approx(100 + pool.GRACE_S, abs=60)
    assert Budget(100.0, begun=now - 200).rest == 0.0
    assert Budget(None).fits(slow)
    assert Budget(None).rest is None


def test_a_slow_arm_does_not_keep_quick_ones_from_the_end_of_a_budget(make):
    class AlmostOver(Budget):
        def fits(self, run):
            return run.arm != "failed"

    make("failed", "finished", budget=AlmostOver(60.0), parallel=1)
    assert [arm for arm, _ in make.told] == ["finished"]


def run_of(arm):
    return Run(arm=arm, seed=1, recipe=Path("tiny.yaml"), overrides={}, key=arm)


@pytest.mark.parametrize("text", ["", "{", "\0"])
def test_a_record_that_is_none_is_made_again(tmp_path, text):
    cache = Cache(tmp_path / "runs", "here", commit="c0ffee")
    run = run_of("a")
    assert cache.get(run) is None
    cache.put(run, {"ended": "finished"})
    assert (
        json.loads(cache.path(run).read_text()) == cache.get(run) == {"commit": "c0ffee", "ended": "finished"}
    )
    cache.path(run).write_text(text)
    assert cache.get(run) is None


@pytest.mark.parametrize(
    ("device", "seen"), [("cpu", ""), ("cuda", "0"), ("cuda:3", "3"), (None, "as it was")]
)
def test_a_process_sees_the_device_that_was_asked_for(monkeypatch, device, seen):
    if device is None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "as it was")
    else:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = pool._environment(device)
    assert (found["CUDA_VISIBLE_DEVICES"], found["OMP_NUM_THREADS"]) == (seen, "1")


@pytest.mark.parametrize(
    ("visible", "device", "expected"),
    [("2,3", "cuda:1", "3"), ("2,3", "cuda", "2"), ("", "cuda:1", "1"), ("2,3", "cpu", "")],
)
def test_numbers_of_gpus_count_those_that_this_process_sees(monkeypatch, visible, device, expected):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert pool._environment(device)["CUDA_VISIBLE_DEVICES"] == expected

"""Ranks that are killed with SIGKILL, and runs that go on with another number of ranks.

`benchmarks/killed_ranks.py` does the same for the record; `test_torch_ranks.py` has a small version.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.distributed.killing_ranks import finish, lose_in_turn, ranked_recipe
from tests.distributed.test_torch_ranks import free_port
from tests.faults.killing import digest, logs, moments, newest
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.errors import RankLost

pytestmark = pytest.mark.slow
MOST_SECONDS = 15.0
ANY_LENGTH = "step.schedule={kind: inverse_sqrt, warmup: 2 steps}"
"""The same rates whatever the length."""


@pytest.mark.parametrize("kind", ["data_parallel", "fsdp"])
def test_a_run_of_which_ranks_are_killed_ends_with_the_weights_of_an_undisturbed_one(tmp_path, kind):
    recipe = ranked_recipe(tmp_path, steps=40, parallel={"kind": kind})
    finish(recipe, tmp_path / "undisturbed", world_size=2, resume=False)
    when = [*zip(moments(2, seed=3, steps=40), (0, 1), strict=True)]
    for lost in lose_in_turn(recipe, tmp_path / "run", when, world_size=2):
        assert sorted(lost.codes) == [-signal.SIGKILL, RankLost.exit_code], lost
        assert lost.named == [1 - lost.rank], lost
        assert lost.seconds < MOST_SECONDS, lost
    finish(recipe, tmp_path / "run", world_size=2, resume=True)
    assert digest(tmp_path / "run") == digest(tmp_path / "undisturbed")
    assert logs(tmp_path / "run")["metrics"] == logs(tmp_path / "undisturbed")["metrics"]


@pytest.mark.parametrize("kind", ["data_parallel", "fsdp"])
def test_a_run_goes_on_with_any_number_of_ranks(tmp_path, kind):
    # With the usual eps Adam would move the biases of keys, whose gradient is 0 but for rounding, by rounding alone.
    changes = {"parallel": {"kind": kind}, "model.dropout": 0.0}
    changes["step.optimizer"] = {"kind": "adamw", "learning_rate": 1e-2, "eps": 1e-4}
    recipe = ranked_recipe(tmp_path, steps=12, **changes)
    for world_size, steps in ((3, 4), (1, 8), (2, 12)):
        length = (ANY_LENGTH, f"length={steps} steps")
        finish(recipe, tmp_path / "run", *length, world_size=world_size, resume=steps > 4)
    finish(recipe, tmp_path / "alone", ANY_LENGTH, world_size=1, resume=False)
    lines, alone = (list(read_journal(tmp_path / name / "metrics.jsonl")) for name in ("run", "alone"))
    assert [line["step"] for line in lines] == [*range(1, 13)]
    for one, other in zip(lines, alone, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-4)
        assert one["target_tokens"] == other["target_tokens"]
    weights, theirs = (resolve_checkpoint(f"{tmp_path / name}@12").load_model() for name in ("run", "alone"))
    assert weights.keys() == theirs.keys()
    assert max(float((weights[name] - theirs[name]).abs().max()) for name in weights) < 5e-4


def test_a_job_of_two_hosts_of_which_one_is_lost_goes_on_with_the_other(tmp_path):
    # Two launchers on this host, as on two: torchrun restarts what is left, which resumes by itself.
    recipe, run = ranked_recipe(tmp_path, steps=400), tmp_path / "run"
    launchers = launched_twice(recipe, run)
    try:
        wait_for(lambda: newest(run) >= 5, launchers)
        (lost,) = children(launchers[1].pid)
        for process in (launchers[1].pid, lost):
            os.kill(process, signal.SIGKILL)
        before = newest(run)
        assert launchers[0].wait(timeout=300) == 0, (tmp_path / "said0").read_text()[-3000:]
    finally:
        for each in launchers:
            for child in children(each.pid):
                os.kill(child, signal.SIGKILL)
            each.kill()
    said = (tmp_path / "said0").read_text()
    assert f"(process {lost}) died on" in said
    assert "continuing from step" in said
    assert [line["step"] for line in read_journal(run / "metrics.jsonl")] == [*range(1, 401)]
    assert newest(run) == 400 > before


def launched_twice(recipe, run):
    elastic = "last_call_timeout=3,keep_alive_interval=1,keep_alive_max_attempt=3"
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--nnodes", "1:2", "--nproc-per-node", "1"),
        *("--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free_port()}", "--rdzv-id", "job"),
        *("--max-restarts", "3", "--local-addr", "127.0.0.1", "--rdzv-conf"),
    ]
    train = ["-m", "trimtab", "train", str(recipe), "--out", str(run)]
    found = []
    for number in range(2):
        # The first has the store through which they meet: the job cannot outlive that host.
        own = [*command, f"{elastic},is_host={int(number == 0)}", *train]
        with (run.parent / f"said{number}").open("w") as said:
            found.append(subprocess.Popen(own, stdout=said, stderr=subprocess.STDOUT))
    return found


def wait_for(reached, processes, *, most_seconds=300.0):
    until = time.monotonic() + most_seconds
    while not reached():
        assert time.monotonic() < until
        assert [each.poll() for each in processes] == [None] * len(processes)
        time.sleep(0.05)


def children(process):
    found = []
    for folder in Path("/proc").iterdir():
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        except (OSError, IndexError):
            continue
        if parent == str(process):
            found.append(int(folder.name))
    return found

"""A disk that fills in the middle of a run costs checkpoints, not the run; what comes back is as if it never had."""

import shutil
from pathlib import Path

import pytest

from tests.children import Command
from tests.faults.counting import Count
from tests.faults.disk import fill, small_disk
from tests.faults.killing import logs
from tests.small_run import small_recipe
from tests.training.small_line import Told
from trimtab.checkpoint.step_folders import list_steps, step_name
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def weights(run: Path, step: int) -> bytes:
    return (run / "checkpoints" / step_name(step) / "model.safetensors").read_bytes()


def test_a_disk_of_8_mb_that_is_full_for_a_while_costs_one_checkpoint(tmp_path: Path, count: Count):
    short = {"length": "12 steps", "checkpoint.every": "4 steps", "evaluate.every": "12 steps"}
    recipe = small_recipe(tmp_path, **short)
    undisturbed = train(recipe, out=tmp_path / "undisturbed").run
    with small_disk(tmp_path / "disk", megabytes=8) as disk:
        run, filler = disk / "run", disk / "filler"

        def watch(step: int) -> None:
            if step == 3:
                fill(filler)
            if step == 6:
                filler.unlink()

        told = Told(watch=watch)
        state = train(recipe, out=run, progress=told).state
        codes = [each.code for each in told.findings]
        same = weights(run, 12) == weights(undisturbed, 12)
        count("corruptions", tried=1, held=same and "K907" in codes)
        assert state.step == 12
        assert "K907" in codes
        assert list_steps(run / "checkpoints") == [8, 12]
        assert same
        assert logs(run)["metrics"] == logs(undisturbed)["metrics"]
        shutil.rmtree(run)


def test_a_log_of_the_terminal_on_a_full_disk_stops_nothing(tmp_path: Path, count: Count):
    recipe = small_recipe(tmp_path, length="4 steps", **{"step.schedule.warmup": "2 steps"})
    with open("/dev/full", "wb") as full:
        process = Command("train", recipe, "--out", tmp_path / "run", stderr=full)
        process.communicate()
    code = process.returncode
    count("corruptions", tried=1, held=code == 0)
    assert code == 0
    assert list_steps(tmp_path / "run" / "checkpoints") == [4]

"""Runs that are asked to stop, by a cluster or by Ctrl-C, save first and end as if nothing had happened."""

import signal
from pathlib import Path

import pytest

from tests.faults.killing import Moment, digest, end_in_turn, killed_recipe, logs
from trimtab.launch import train


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGTERM, 0), (signal.SIGINT, 2)])
def test_a_run_that_is_asked_to_stop_saves_and_can_go_on(
    number: int, workers: int, tmp_path: Path, undisturbed: Path
):
    recipe, run = killed_recipe(tmp_path, workers=workers), tmp_path / "run"
    (found,) = end_in_turn(recipe, run, [Moment(40, 0.05)], number=number)
    assert found.code == 143
    # Nothing done is lost: the newest checkpoint is that of the last step.
    assert found.checkpoint == found.metrics_step >= 40
    assert found.drafts == 0
    train(recipe, out=run, resume=True)
    assert digest(run) == digest(undisturbed)
    assert logs(run) == logs(undisturbed)

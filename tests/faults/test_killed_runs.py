"""Runs that are killed with SIGKILL and resumed end as if nothing had happened.

`benchmarks/killed_runs.py` does the same for the record.
"""

import signal
from pathlib import Path

import pytest

from tests.faults.killing import STEPS, digest, end_in_turn, finish, killed_recipe, logs, moments
from trimtab.launch import train


def assert_as_undisturbed(run: Path, undisturbed: Path) -> None:
    assert digest(run) == digest(undisturbed)
    found, expected = logs(run), logs(undisturbed)
    assert len(found["metrics"]) == STEPS
    assert found == expected
    assert (run / "data_ledger.json").read_text() == (undisturbed / "data_ledger.json").read_text()


@pytest.mark.parametrize("workers", [0, 2])
def test_two_kills_in_a_row_change_nothing(workers: int, tmp_path: Path, undisturbed: Path):
    recipe = killed_recipe(tmp_path, workers=workers)
    early, late = moments(2, seed=workers)
    found = end_in_turn(recipe, tmp_path / "run", [early, late])
    assert [each.code for each in found] == [-signal.SIGKILL] * 2
    assert found[1].checkpoint >= late.step
    train(recipe, out=tmp_path / "run", resume=True)
    assert_as_undisturbed(tmp_path / "run", undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_five_kills_in_a_row_change_nothing(workers: int, tmp_path: Path, undisturbed: Path):
    recipe = killed_recipe(tmp_path, workers=workers)
    found = end_in_turn(recipe, tmp_path / "run", moments(5, seed=10 + workers))
    assert [each.code for each in found] == [-signal.SIGKILL] * 5
    finish(recipe, tmp_path / "run", resume=True)
    assert_as_undisturbed(tmp_path / "run", undisturbed)

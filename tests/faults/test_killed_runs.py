"""Runs that are killed with SIGKILL and resumed end as if nothing had happened.

`benchmarks/killed_runs.py` does the same for the record.
"""

import signal
from pathlib import Path

import pytest

from tests.faults.counting import Count
from tests.faults.killing import (
    FEW_STEPS,
    MANY_STEPS,
    Found,
    digest,
    end_in_turn,
    finish,
    killed_recipe,
    logs,
    moments,
)
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def is_as_undisturbed(run: Path, undisturbed: Path) -> bool:
    ledgers = [(each / "data_ledger.json").read_text() for each in (run, undisturbed)]
    return digest(run) == digest(undisturbed) and logs(run) == logs(undisturbed) and ledgers[0] == ledgers[1]


def steps_lost(found: list[Found]) -> list[int]:
    """Steps that the log knew of and no checkpoint had; they are trained again."""
    return [max(0, (each.metrics_step or 0) - (each.checkpoint or 0)) for each in found]


@pytest.mark.quick("0")
@pytest.mark.parametrize("workers", [0, 2])
def test_two_kills_in_a_row_change_nothing(workers: int, tmp_path: Path, undisturbed: Path, count: Count):
    recipe = killed_recipe(tmp_path, workers=workers, steps=FEW_STEPS)
    early, late = moments(2, seed=workers, steps=FEW_STEPS)
    found = end_in_turn(recipe, tmp_path / "run", [early, late])
    assert [each.code for each in found] == [-signal.SIGKILL] * 2
    assert found[1].checkpoint >= late.step
    train(recipe, out=tmp_path / "run", resume=True)
    as_undisturbed = is_as_undisturbed(tmp_path / "run", undisturbed)
    count("random kills", tried=2, held=2 * as_undisturbed, steps_lost=steps_lost(found))
    assert len(logs(tmp_path / "run")["metrics"]) == FEW_STEPS
    assert as_undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1, 2, 4])
def test_ten_kills_in_a_row_change_nothing(
    workers: int, tmp_path: Path, long_undisturbed: Path, count: Count
):
    recipe = killed_recipe(tmp_path, workers=workers, steps=MANY_STEPS)
    found = end_in_turn(recipe, tmp_path / "run", moments(10, seed=20 + workers, steps=MANY_STEPS))
    finish(recipe, tmp_path / "run", resume=True)
    as_undisturbed = is_as_undisturbed(tmp_path / "run", long_undisturbed)
    count("random kills", tried=10, held=10 * as_undisturbed, steps_lost=steps_lost(found))
    assert [each.code for each in found] == [-signal.SIGKILL] * 10
    assert as_undisturbed

import pytest

from tests.language_run import language_parts
from tests.small_run import small_parts
from trimtab.tasks.task import Batching, ComputesLoss, Datasets


@pytest.mark.parametrize("parts_of", [small_parts, language_parts])
def test_what_a_task_gives_a_run_is_what_every_run_asks_for(tmp_path, parts_of):
    parts = parts_of(tmp_path)
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)
    loss, name = parts.task.untrained(parts.datasets)
    assert 0 < loss < 20
    assert name == "ln(vocabulary)"

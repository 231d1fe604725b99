import pytest

from tests.language_run import language_parts
from tests.small_run import small_parts
from trimtab.errors import InputError
from trimtab.tasks.task import Batching, ComputesLoss, Datasets, no_warm_start, unknown_loss


@pytest.mark.parametrize("parts_of", [small_parts, language_parts])
def test_what_a_task_gives_a_run_is_what_every_run_asks_for(tmp_path, parts_of):
    parts = parts_of(tmp_path)
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)
    loss, name = parts.task.untrained(parts.datasets)
    assert 0 < loss < 20
    assert name == "ln(vocabulary)"


def test_any_finite_loss_is_within_the_bounds_of_one_that_is_not_known():
    expected = unknown_loss(None).loss
    assert abs(5.0 - expected) <= 0.15 * expected


def test_a_model_that_begins_from_nothing_says_what_it_cannot_start_from():
    with pytest.raises(InputError, match="cannot start from RUN@5"):
        no_warm_start(None, None, None, name="RUN@5")

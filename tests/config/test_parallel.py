import pytest

from tests.small_run import small_recipe
from trimtab.config.load import load_recipe
from trimtab.errors import InputError


def test_processes_share_the_steps_unless_told_otherwise(tmp_path):
    parallel = load_recipe(small_recipe(tmp_path)).recipe.parallel
    assert (parallel.kind, str(parallel.timeout)) == ("data_parallel", "10 minutes")


def test_a_wait_is_written_in_minutes(tmp_path):
    recipe = small_recipe(tmp_path, **{"parallel.timeout": "30 minutes"})
    assert load_recipe(recipe).recipe.parallel.timeout.count == 30
    with pytest.raises(InputError, match="timeout: 10 minutes"):
        load_recipe(small_recipe(tmp_path, **{"parallel.timeout": "30 steps"}))


@pytest.mark.parametrize("timeout", ["0.001 seconds", "99999999999999 days", "8 days"])
def test_a_timeout_that_ends_healthy_jobs_or_none_is_refused(tmp_path, timeout):
    with pytest.raises(InputError, match=r"parallel\.timeout"):
        load_recipe(small_recipe(tmp_path, **{"parallel.timeout": timeout}))

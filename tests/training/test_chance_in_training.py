"""Settings that draw at random in training pass the checks before step 1 and train, with and without dropout."""

import pytest

from tests.small_run import small_recipe
from trimtab.launch import train

SETTINGS = {
    "sub-layers, each other one": {"step.stochastic_depth": 0.5},
    "sub-layers, hardly one": {"step.stochastic_depth": 0.01, "model.dropout": 0.0},
    "positions": {"step.position_shift": 8, "model.dropout": 0.0},
    "positions and sub-layers": {"step.position_shift": 8, "step.stochastic_depth": 0.3},
}


@pytest.mark.quick("sub-layers, each other one")
@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in SETTINGS])
def test_it_trains(tmp_path, name):
    recipe = small_recipe(tmp_path, **SETTINGS[name], length="2 steps", **{"step.schedule.warmup": "1 steps"})
    assert train(recipe, out=tmp_path / "run").state.step == 2

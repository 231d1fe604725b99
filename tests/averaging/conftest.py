import pytest

from tests.shared_folder import shared_folder
from tests.small_run import small_recipe
from tests.unchecked import model_unchecked
from trimtab.checkpoint.step_folders import list_steps
from trimtab.launch import train


@pytest.fixture(scope="session")
def run(own_cache, tmp_path_factory):
    """A run with checkpoints at steps 10, 20, 30 and 40, evaluated at the last, that kept a moving average."""
    changes = {
        "length": "40 steps",
        "checkpoint.every": "10 steps",
        "checkpoint.keep": 4,
        "evaluate.every": "40 steps",
        "step.ema": {"decay": 0.9},
    }

    def make(folder):
        with model_unchecked():
            train(small_recipe(folder, **changes), out=folder / "run")
        assert list_steps(folder / "run" / "checkpoints") == [10, 20, 30, 40]

    return shared_folder(tmp_path_factory, "averaged", make) / "run"

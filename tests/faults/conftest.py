from pathlib import Path

import pytest

from tests.faults.killing import killed_recipe
from trimtab.launch import train


@pytest.fixture(scope="session")
def undisturbed(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nobody interrupted; its recipe lies beside it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return train(killed_recipe(folder, workers=0), out=folder / "run").run

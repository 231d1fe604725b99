import pytest

from tests.label_run import label_recipe, label_sources
from trimtab.launch import train


@pytest.fixture(scope="session")
def opened(own_cache, tmp_path_factory):
    """Recipe and opened data of the small classifier."""
    return label_sources(tmp_path_factory.mktemp("labels"))


@pytest.fixture(scope="session")
def label_run(own_cache, tmp_path_factory):
    """The folder of a small classifier that is trained."""
    folder = tmp_path_factory.mktemp("trained")
    return train(label_recipe(folder), out=folder / "run").run

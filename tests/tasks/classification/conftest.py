import pytest

from tests.label_run import label_recipe, label_sources
from tests.shared_folder import shared_folder
from tests.unchecked import model_unchecked
from trimtab.launch import train


@pytest.fixture(scope="session")
def opened(own_cache, tmp_path_factory):
    """Recipe and opened data of the small classifier."""
    return label_sources(tmp_path_factory.mktemp("labels"))


@pytest.fixture(scope="session")
def label_run(own_cache, tmp_path_factory):
    """The folder of a small classifier that is trained."""

    def make(folder):
        with model_unchecked():
            train(label_recipe(folder), out=folder / "run")

    return shared_folder(tmp_path_factory, "labels_trained", make) / "run"

import pytest

from tests.diffusion_run import CLASSIFIES, diffusion_recipe, diffusion_sources
from tests.shared_folder import shared_folder
from trimtab.launch import train


@pytest.fixture(scope="session")
def opened(own_cache, tmp_path_factory):
    """Recipe and opened data of the small classifier of images."""
    return diffusion_sources(tmp_path_factory.mktemp("shapes"), **CLASSIFIES)


@pytest.fixture(scope="session")
def image_classifier_run(own_cache, tmp_path_factory):
    """The folder of a small classifier of images that is trained for a few steps."""

    def make(folder):
        train(diffusion_recipe(folder, **CLASSIFIES), out=folder / "run")

    return shared_folder(tmp_path_factory, "image_classifier_trained", make) / "run"

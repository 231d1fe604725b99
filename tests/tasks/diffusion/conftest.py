import pytest

from tests.diffusion_run import AUTOENCODER, LATENT, diffusion_recipe, diffusion_sources
from tests.shared_folder import shared_folder
from tests.unchecked import model_unchecked
from trimtab.launch import train


@pytest.fixture(scope="session")
def opened(own_cache, tmp_path_factory):
    """Recipe and opened data of the small diffusion model."""
    return diffusion_sources(tmp_path_factory.mktemp("shapes"))


@pytest.fixture(scope="session")
def parts(opened):
    """The parts of its run."""
    from trimtab.build import build

    return build(*opened)


@pytest.fixture(scope="session")
def diffusion_run(own_cache, tmp_path_factory):
    """The folder of a small diffusion model that is trained for a few steps."""

    def make(folder):
        with model_unchecked():
            train(diffusion_recipe(folder), out=folder / "run")

    return shared_folder(tmp_path_factory, "diffusion_trained", make) / "run"


@pytest.fixture(scope="session")
def autoencoder_run(own_cache, tmp_path_factory):
    """The folder of a small autoencoder that is trained for a few steps."""

    def make(folder):
        train(diffusion_recipe(folder, model=AUTOENCODER), out=folder / "run")

    return shared_folder(tmp_path_factory, "autoencoder_trained", make) / "run"


@pytest.fixture(scope="session")
def latent_run(autoencoder_run, tmp_path_factory):
    """The folder of a small diffusion model in the latents of this autoencoder."""

    def make(folder):
        model = {**LATENT, "autoencoder": str(autoencoder_run)}
        train(diffusion_recipe(folder, model=model), out=folder / "run")

    return shared_folder(tmp_path_factory, "latents_trained", make) / "run"

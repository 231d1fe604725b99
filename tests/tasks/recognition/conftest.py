import pytest

from tests.image_run import image_recipe, image_sources
from tests.shared_folder import shared_folder
from tests.unchecked import model_unchecked
from trimtab.exporting import export_model
from trimtab.launch import train


@pytest.fixture(scope="session")
def opened(own_cache, tmp_path_factory):
    """Recipe and opened data of the small recognizer."""
    return image_sources(tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="session")
def opened_both(own_cache, tmp_path_factory):
    """The same with both heads and registers."""
    changes = {"model.head": "both", "model.registers": 2}
    return image_sources(tmp_path_factory.mktemp("both"), **changes)


@pytest.fixture(scope="session")
def image_run(own_cache, tmp_path_factory):
    """The folder of a small recognizer with both heads that is trained for a few steps."""

    def make(folder):
        with model_unchecked():
            train(image_recipe(folder, **{"model.head": "both"}), out=folder / "run")

    return shared_folder(tmp_path_factory, "images_trained", make) / "run"


@pytest.fixture(scope="session")
def exported(image_run, tmp_path_factory):
    """The folder of that run, exported for ONNX Runtime, and the report."""
    out = tmp_path_factory.mktemp("exported") / "out"
    return out, export_model(image_run, to="onnx", out=out)

import pytest

from tests.box_run import box_recipe, box_sources
from trimtab.build import build
from trimtab.launch import train


@pytest.fixture(scope="session")
def opened(own_cache, tmp_path_factory):
    """Recipe and opened data of the small detector."""
    return box_sources(tmp_path_factory.mktemp("boxes"))


@pytest.fixture(scope="session")
def parts(opened):
    """The parts of the small detector, which nothing may change."""
    return build(*opened)


@pytest.fixture(scope="session")
def box_run(own_cache, tmp_path_factory):
    """The folder of a small detector that is trained for two steps."""
    folder = tmp_path_factory.mktemp("trained")
    return train(box_recipe(folder), out=folder / "run").run

import pytest

from tests.box_run import box_sources
from trimtab.build import build


@pytest.fixture(scope="session")
def opened(own_cache, tmp_path_factory):
    """Recipe and opened data of the small detector."""
    return box_sources(tmp_path_factory.mktemp("boxes"))


@pytest.fixture(scope="session")
def parts(opened):
    """The parts of the small detector, which nothing may change."""
    return build(*opened)

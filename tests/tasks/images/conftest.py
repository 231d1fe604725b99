import pytest

from tests.diffusion_run import diffusion_sources


@pytest.fixture(scope="session")
def square_parts(own_cache, tmp_path_factory):
    """The parts of a small run on images of one size."""
    from trimtab.build import build

    return build(*diffusion_sources(tmp_path_factory.mktemp("squares")))

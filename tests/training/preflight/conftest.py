import pytest

from tests.small_run import small_sources
from trimtab.build import build


@pytest.fixture(scope="session")
def opened(own_cache, tmp_path_factory):
    """Recipe and opened data of the small run."""
    return small_sources(tmp_path_factory.mktemp("preflight"))


@pytest.fixture
def parts(opened):
    """Fresh parts for each test: a model and an optimizer that it may damage."""
    return build(*opened)


@pytest.fixture
def parts_with(opened):
    """Fresh parts of the same data with another model or step, `{"model": {...}, "step": {...}}`."""

    def made(**changes):
        recipe, sources = opened
        branches = {key: getattr(recipe, key).model_copy(update=values) for key, values in changes.items()}
        return build(recipe.model_copy(update=branches), sources)

    return made

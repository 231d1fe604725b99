import pytest


@pytest.fixture(autouse=True)
def fast_exports(few_samples: None) -> None:
    """All tests here compare few samples."""

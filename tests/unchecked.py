"""Runs that are the material of a test and not its subject begin without the checks of the model.

Half of a run of four steps are these checks. `tests/training/preflight` and `tests/faults/test_healthy_recipes.py` ask
for them, and so do the runs of `conftest.py`, of which there is one for each kind of model.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def model_unchecked() -> Iterator[None]:
    """Runs that begin meanwhile check their data alone."""
    from trimtab import launch  # late: tests of the light half need no torch
    from trimtab.training.preflight.every_check import of_the_data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "preflight", of_the_data)
        yield

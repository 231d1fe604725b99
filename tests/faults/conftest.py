import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.counting import Count, keep
from tests.faults.killing import FEW_STEPS, MANY_STEPS, killed_recipe
from tests.shared_folder import shared_folder
from tests.unchecked import model_unchecked
from trimtab.launch import train


@pytest.fixture(scope="session")
def undisturbed(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nobody interrupted; its recipe lies beside it."""

    def make(folder: Path) -> None:
        with model_unchecked():
            train(killed_recipe(folder, workers=0, steps=FEW_STEPS), out=folder / "run")

    return shared_folder(tmp_path_factory, "undisturbed", make) / "run"


@pytest.fixture(scope="session")
def long_undisturbed(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with twice as many steps."""

    def make(folder: Path) -> None:
        with model_unchecked():
            train(killed_recipe(folder, workers=0, steps=MANY_STEPS), out=folder / "run")

    return shared_folder(tmp_path_factory, "long_undisturbed", make) / "run"


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Iterator[Count]:
    """Takes what the test tried and what held."""
    counts: list[dict[str, Any]] = []
    begun = time.perf_counter()

    def add(kind, *, tried, held, steps_lost=()):
        counts.append({"kind": kind, "tried": tried, "held": held, "steps_lost": list(steps_lost)})

    yield add
    keep(request.node.nodeid, counts, seconds=time.perf_counter() - begun)

"""Opens an experiment as its own command does: with its folder in front of the module search path."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent.parent / "experiments"
EXPERIMENTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "experiment")


def open_experiment(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ModuleType]:
    """The experiment, and the module that runs it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name).EXPERIMENT, importlib.import_module("experiment")

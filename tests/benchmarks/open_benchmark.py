"""Opens a benchmark as its own command does: with its folder in front of the module search path."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"


def open_benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of a script."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)

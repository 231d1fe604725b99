import sys
from functools import cache
from types import SimpleNamespace

import pytest
from typer import testing
from typer.testing import CliRunner

import trimtab
from trimtab.cli.app import app

# A runner makes all commands anew for each line, which takes longer than most of them; a process makes them once.
testing._get_command = cache(testing._get_command)


@pytest.fixture
def call():
    """Runs a command line in this process; gives exit code, stdout and stderr."""

    def run(*arguments, stdin=None):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)

    return run


@pytest.fixture
def stand_in(monkeypatch):
    """Puts a module of functions in the place of a heavy one, so that the shell is tested alone."""

    def put(name, **functions):
        module = SimpleNamespace(**functions)
        monkeypatch.setitem(sys.modules, f"trimtab.{name}", module)
        monkeypatch.setattr(trimtab, name, module, raising=False)

    return put


@pytest.fixture
def recipe(tmp_path):
    """A recipe file that loads."""
    path = tmp_path / "en_de.yaml"
    path.write_text(
        "data:\n  train:\n    - {source: train.en, target: train.de}\nmodel: {preset: tiny}\nlength: 1000 steps\n"
    )
    return path

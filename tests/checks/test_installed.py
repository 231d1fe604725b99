import sys
from importlib import metadata

import pytest

from trimtab.checks import installed
from trimtab.checks.installed import installed_version


@pytest.mark.parametrize("name", ["pytest", "ruamel.yaml", "Hypothesis", "typer"])
def test_it_is_the_version_that_python_itself_tells(name):
    assert installed_version(name) == metadata.version(name)


def test_what_is_not_installed_has_none():
    assert installed_version("no-such-package") is None


def test_what_an_import_would_take_comes_first(tmp_path, monkeypatch):
    for name in ["a/Some_Package-1.0.dist-info", "b/some.package-2.0.dist-info", "b/x-3-py3.11.egg-info"]:
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "gone"), str(tmp_path / "a"), str(tmp_path / "b")])
    installed._installed.cache_clear()
    try:
        assert (installed_version("some-package"), installed_version("x")) == ("1.0", "3")
    finally:
        installed._installed.cache_clear()

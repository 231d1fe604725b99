import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.checks.ignored import Ignored


def is_ignored(folder: Path, patterns: str, path: str) -> bool:
    (folder / ".gitignore").write_text(patterns, encoding="utf-8", errors="replace")
    ignored = Ignored().within(folder)
    return ignored.matches(folder / path.rstrip("/"), is_folder=path.endswith("/"))


# What git does with a file of that name (a folder where it ends in a slash), its parents left aside.
FACTS = [
    ("*.json", "a.json", True),
    ("*.json", "b/c/a.json", True),
    ("*.json", "a.jsonl", False),
    ("/a.json", "a.json", True),
    ("/a.json", "b/a.json", False),
    ("b/a.json", "b/a.json", True),
    ("b/a.json", "c/b/a.json", False),
    ("out/", "out/", True),
    ("out/", "out", False),
    ("out/", "b/out/", True),
    ("out", "out", True),
    ("**/out", "a/b/out", True),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("a/**", "a/x/y", True),
    ("a/**", "a/", False),
    ("a/*", "a/b", True),
    ("a/*", "a/b/c", False),
    ("a?c", "abc", True),
    ("a?c", "a/c", False),
    ("[ab].py", "a.py", True),
    ("[!ab].py", "a.py", False),
    ("[!ab].py", "c.py", True),
    ("[0-9].py", "5.py", True),
    ("*a*b*", "xxaxxbxx", True),
    ("*a*b*", "xxbxxaxx", False),
    ("# a", "# a", False),
    ("\\#a", "#a", True),
    ("\\!a", "!a", True),
    ("a ", "a", True),
    ("", "a", False),
    ("/", "a", False),
    ("*\n!a.py", "a.py", False),
    ("*\n!a.py", "b.py", True),
    ("!a.py\n*", "a.py", True),
    ("[z-a]", "a", False),
    ("[ab", "[ab", False),
    ("a.c", "abc", False),
]


@pytest.mark.parametrize(("patterns", "path", "expected"), FACTS)
def test_patterns_mean_what_git_means(tmp_path: Path, patterns: str, path: str, expected: bool):
    assert is_ignored(tmp_path, patterns, path) is expected


def test_a_file_without_patterns_changes_nothing(tmp_path: Path):
    (tmp_path / ".gitignore").write_text("# nothing\n")
    ignored = Ignored()
    assert ignored.within(tmp_path) is ignored
    assert Ignored.above(tmp_path) == Ignored()


@pytest.mark.parametrize(
    "pattern", ["*a" * 60 + "b", "**/" * 60 + "b", "**/a/" * 40 + "*b", "[a-z]*" * 40 + "!"]
)
def test_hostile_patterns_take_no_time(tmp_path: Path, pattern: str):
    assert not is_ignored(tmp_path, pattern, "a" * 200)
    assert not is_ignored(tmp_path, pattern, "/".join(["a"] * 100))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    patterns=st.text(alphabet="ab*?[]!/\\-^# \n.", max_size=20),
    path=st.text(alphabet="ab.", min_size=1, max_size=6),
)
def test_any_pattern_says_yes_or_no(tmp_path: Path, patterns: str, path: str):
    assert is_ignored(tmp_path, patterns, f"x{path}") in (True, False)


def test_a_folder_that_nobody_may_look_into_has_no_ignore_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object):
        raise PermissionError(13, "Permission denied")

    (tmp_path / ".gitignore").write_text("*.yaml\n")
    for name in ("stat", "lstat"):
        monkeypatch.setattr(os, name, refuse)
    ignored = Ignored.above(tmp_path).within(tmp_path)
    assert not ignored.matches(tmp_path / "a.yaml", is_folder=False)

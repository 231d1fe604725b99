"""Exact versions that the files of a project pin: lock files, requirements, `pyproject.toml`, conda, `setup.cfg`."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from trimtab.checks.read.limits import MAX_BYTES
from trimtab.errors import InputError

Pin = tuple[str, str]
"""A package as the package index compares names, and its version."""

MAX_LOCK_BYTES: Final = 20_000_000
MAX_PARENTS: Final = 40

_PACKAGE = r"(?m)^\[\[package\]\]\s*^name\s*=\s*\"([^\"\n]+)\"\s*^version\s*=\s*\"([^\"\n]+)\""
_EXACT = r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]\n]*\])?\s*\(?\s*={2,3}\s*([0-9][\w.!+-]*)\s*\)?\s*(\*?)\s*(;?)"
_CONDA = (
    r"\s*-\s*[\"']?(?:[\w.-]+::)?([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*={1,2}\s*([0-9][\w.]*)"
    r"(?:=[\w.*]*)?[\"']?\s*(?:#.*)?$"
)


_INSTALLING = ("pip install", "# /// script", "uv add", '"pip", "install"')
_NAME = r"(?<![\w./-])([A-Za-z][\w-]{0,80})(?:\[[^\]\n]{0,40}\])?\Z"
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*(?![\w.*])")
_LONGEST: Final = 130
"""Characters of a package's name with its extras."""


def pins_around(folder: Path) -> dict[str, str]:
    """By package: of the nearest folder that pins it, from the file's own up to the root of its repository.

    Ranges and pins with a condition (`; python_version < "3.12"`) say nothing: nobody knows what they came to.
    """
    try:
        return _around(folder.resolve())
    except (OSError, RuntimeError):  # no permission, a loop of links
        return {}


@cache
def _around(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in up_to_root(folder):
        found = _pins_in(each) | found
    return found


def pins_of_script(text: str) -> dict[str, str]:
    """By package: the version that a script or a notebook installs itself (`!pip install transformers==4.56.2`), or
    names in its own metadata (`# /// script`); of several the last."""
    if not any(word in text for word in _INSTALLING):
        return {}
    pins: dict[str, str] = {}
    at = text.find("==")
    while at >= 0:  # looked for by itself: a notebook may hold megabytes of images
        name, number = re.search(_NAME, text[max(0, at - _LONGEST) : at]), _NUMBER.match(text, at + 2)
        if name is not None and number is not None:
            pins[name[1].lower()] = number[0]
        at = text.find("==", at + 2)
    return pins


def up_to_root(folder: Path) -> list[Path]:
    """The folder and its parents up to the repository's root; outside a repository the folder alone."""
    folders = [folder, *folder.parents][:MAX_PARENTS]
    for index, each in enumerate(folders):
        if (each / ".git").exists():
            return folders[: index + 1]
    return folders[:1]


@cache
def _pins_in(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, read in _FILES:
        file = folder / name
        largest = MAX_LOCK_BYTES if name.endswith(".lock") else MAX_BYTES
        try:
            if not file.is_file() or file.stat().st_size > largest:
                continue
            text = file.read_text(encoding="utf-8-sig", errors="replace")
        except OSError:
            continue
        found = _agreed(read(text)) | found
    return found


def _agreed(pins: Iterator[Pin]) -> dict[str, str]:
    """What one file says of each package; a package pinned to two versions is not known."""
    versions: dict[str, set[str]] = {}
    for name, version in pins:
        versions.setdefault(re.sub(r"[-_.]+", "-", name).lower(), set()).add(version)
    return {name: next(iter(each)) for name, each in versions.items() if len(each) == 1}


def _lock(text: str) -> Iterator[Pin]:
    return ((found[1], found[2]) for found in re.finditer(_PACKAGE, text))


def _lines(text: str) -> Iterator[Pin]:
    for line in text.splitlines():
        yield from _exact(line.split("#", 1)[0])


def _exact(requirement: str) -> Iterator[Pin]:
    found = re.match(_EXACT, requirement)
    if found is not None and not found[3] and not found[4] and "," not in requirement[found.end() :]:
        yield found[1], found[2]


def _conda(text: str) -> Iterator[Pin]:
    names = {"pytorch": "torch"}
    for line in text.splitlines():
        if found := re.match(_CONDA, line):
            yield names.get(found[1], found[1]), found[2]


def _pyproject(text: str) -> Iterator[Pin]:
    from trimtab.checks.read.toml import read_toml

    try:
        content = read_toml("pyproject.toml", text)
    except InputError:
        return
    project, poetry = _table(content, "project"), _table(content, "tool", "poetry")
    groups = [
        *_table(project, "optional-dependencies").values(),
        *_table(content, "dependency-groups").values(),
    ]
    for group in [project.get("dependencies"), *groups]:
        for requirement in _list(group):
            yield from _exact(requirement) if isinstance(requirement, str) else ()
    for name, wanted in _table(poetry, "dependencies").items():
        version = _table({"": wanted}, "").get("version") if isinstance(wanted, dict) else wanted
        if isinstance(version, str) and (found := re.fullmatch(r"\s*(?:==\s*)?([0-9][\w.]*)\s*", version)):
            yield name, found[1]


def _table(content: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        inner: Any = content.get(name)
        content = cast(dict[str, Any], inner) if isinstance(inner, dict) else {}
    return content


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


_FILES: tuple[tuple[str, Callable[[str], Iterator[Pin]]], ...] = (
    ("uv.lock", _lock),
    ("poetry.lock", _lock),
    ("requirements.txt", _lines),
    ("pyproject.toml", _pyproject),
    ("environment.yml", _conda),
    ("environment.yaml", _conda),
    ("setup.cfg", _lines),
)
"""Earlier ones win: a lock file says what was resolved, a requirement what was wanted."""

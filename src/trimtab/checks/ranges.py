"""Ranges of versions that a project asks for: what is installed here is not what runs there if they leave it out."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from trimtab.checks.pins import up_to_root
from trimtab.checks.read.limits import MAX_BYTES

_FILES = ("requirements.txt", "pyproject.toml", "setup.cfg")
_RANGE = (
    r"""(?m)(?:^|["'])\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]\n]*\])?\s*\(?\s*"""
    r"""(?P<range>(?:[~=!<>]=|[<>])[^;#"'\n)]*)"""
    r"""(?P<condition>[^"'\n]*)"""
)
_PART = r"(~=|==|!=|<=|>=|<|>)\s*v?([0-9]+(?:\.[0-9]+)*)(\.\*)?"


def ranges_around(folder: Path) -> dict[str, tuple[str, ...]]:
    """By package as the package index compares names: the ranges of the nearest file above a folder that names any.

    Ranges with a condition (`; python_version < "3.12"`) say nothing.
    """
    found: dict[str, tuple[str, ...]] = {}
    try:
        for each in up_to_root(folder.resolve()):
            found = _in(each) | found
    except (OSError, RuntimeError):  # no permission, a loop of links
        return {}
    return found


def allows(text: str, version: tuple[int, ...]) -> bool:
    """Whether a version is in a range such as `>=4.40,<5`, `~=4.46` or `==4.46.*`; what cannot be read allows all."""
    return all(_part_allows(sign, numbers, star, version) for sign, numbers, star in _parts(text))


def _parts(text: str) -> Iterator[tuple[str, tuple[int, ...], bool]]:
    for found in re.finditer(_PART, text):
        yield found[1], tuple(int(each) for each in found[2].split(".")[:6]), found[3] is not None


def _part_allows(sign: str, bound: tuple[int, ...], star: bool, version: tuple[int, ...]) -> bool:
    longest = max(len(bound), len(version))
    ours, theirs = (each + (0,) * (longest - len(each)) for each in (version, bound))
    match sign:
        case "~=":
            return ours >= theirs and ours[: max(1, len(bound) - 1)] == theirs[: max(1, len(bound) - 1)]
        case "==" | "!=":
            same = ours[: len(bound)] == bound if star else ours == theirs
            return same == (sign == "==")
        case "<=":
            return ours <= theirs
        case ">=":
            return ours >= theirs
        case "<":
            return ours < theirs
        case _:
            return ours > theirs


@cache
def _in(folder: Path) -> dict[str, tuple[str, ...]]:
    """By package as the index compares names, the ranges that the files of one folder give."""
    found: dict[str, tuple[str, ...]] = {}
    for name in _FILES:
        file = folder / name
        try:
            if not file.is_file() or file.stat().st_size > MAX_BYTES:
                continue
            text = file.read_text(encoding="utf-8-sig", errors="replace")
        except OSError:
            continue
        for each in re.finditer(_RANGE, text):
            if ";" not in each["condition"]:
                package = re.sub(r"[-_.]+", "-", each["name"]).lower()
                found[package] = (*found.get(package, ()), each["range"])
    return found

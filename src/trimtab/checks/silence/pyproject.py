"""Silences of a project: `[tool.trimtab.check] allow = [...]` in the nearest `pyproject.toml` upward of a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, cast

from trimtab.checks.place import Place
from trimtab.checks.silence.silence import Silence
from trimtab.errors import InputError, Problem, input_error

NAME = "pyproject.toml"
_HEAD = "tool.trimtab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """One entry of `allow`."""

    rule: str
    because: str
    files: tuple[str, ...]
    """Patterns of paths below the folder of `pyproject.toml`; `*` goes on over folders."""
    place: Place


@dataclass(frozen=True, slots=True)
class Project:
    """What a `pyproject.toml` says to `check`."""

    folder: Path
    allowed: tuple[Allowed, ...] = ()


def project_of(folder: Path) -> Project | None:
    """The project that a folder belongs to, None where there is no `pyproject.toml` upward; raises InputError."""
    for parent in (folder, *folder.parents):
        if (project := _read(parent)) is not None:
            return project
    return None


def silences_of_project(project: Project, path: Path, walked: tuple[Path, ...]) -> dict[Allowed, Silence]:
    """Those meant for a file; `walked` are the folders that this run looks through."""
    below = path.relative_to(project.folder).as_posix()
    whole = any(project.folder.is_relative_to(folder) for folder in walked)
    return {
        each: Silence(
            rules=(each.rule,),
            because=each.because,
            place=each.place,
            is_certain=whole or below in each.files,
        )
        for each in project.allowed
        if any(fnmatchcase(below, pattern) for pattern in each.files)
    }


@cache
def _read(folder: Path) -> Project | None:
    path = folder / NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise input_error(f"{path}: cannot be read", got=str(error), where=str(path)) from None
    return Project(folder, _allowed(text, str(path)) if _HEAD in text else ())


def _allowed(text: str, path: str) -> tuple[Allowed, ...]:
    import tomllib

    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise input_error(f"{path}: not TOML", got=str(error), where=path) from None
    table = _table(whole, "tool", "trimtab", "check")
    if unknown := [key for key in table if key != "allow"]:
        raise input_error(
            f"[tool.trimtab.check]: unknown key `{unknown[0]}`",
            allowed="allow",
            where=f"{path}:{_line(text, unknown[0], 0)}:1",
        )
    entries = table.get("allow", [])
    if not isinstance(entries, list):
        raise _wrong(path, "`allow` is not a list")
    allowed: list[Allowed] = []
    for number, entry in enumerate(cast(list[Any], entries), 1):
        allowed.append(_entry(text, path, entry, number, allowed))
    return tuple(allowed)


def _entry(text: str, path: str, entry: Any, number: int, earlier: list[Allowed]) -> Allowed:
    if not isinstance(entry, Mapping):
        raise _wrong(path, f"entry {number} of `allow` is not a table")
    table = cast(Mapping[str, Any], entry)
    rule, because, files = table.get("rule"), table.get("because", ""), table.get("files", "*")
    patterns = cast(list[Any], files) if isinstance(files, list) else [files]
    if unknown := sorted(set(table) - {"rule", "because", "files"}):
        raise _wrong(path, f"entry {number} of `allow` has an unknown key `{unknown[0]}`")
    if (
        not isinstance(rule, str)
        or not isinstance(because, str)
        or not all(isinstance(each, str) for each in patterns)
    ):
        raise _wrong(path, f"entry {number} of `allow` has a value that is not text")
    same_rule = sum(each.rule == rule for each in earlier)
    place = Place(path, _line(text, f'"{rule}"', same_rule))
    return Allowed(rule=rule, because=because.strip(), files=tuple(patterns), place=place)


def _wrong(path: str, got: str) -> InputError:
    return InputError(
        Problem(
            what="[tool.trimtab.check]: not understood",
            got=got,
            allowed='allow = [{rule = "S104", because = "a smoke test", files = "configs/*.json"}]',
            where=path,
        )
    )


def _table(whole: Any, *names: str) -> Mapping[str, Any]:
    for name in names:
        whole = cast(Mapping[str, Any], whole).get(name, {}) if isinstance(whole, Mapping) else {}
    return cast(Mapping[str, Any], whole) if isinstance(whole, Mapping) else {}


def _line(text: str, word: str, number: int) -> int:
    """TOML is read without places: an entry is told by the word it holds, below the head of the table."""
    begin = text.index(_HEAD)
    rows = [row for row, line in enumerate(text.splitlines(), 1) if word in line]
    rows = [row for row in rows if row > text.count("\n", 0, begin)] or [text.count("\n", 0, begin) + 1]
    return rows[min(number, len(rows) - 1)]

"""Silences of a project: `[tool.trimtab.check] allow = [...]` in the nearest `pyproject.toml` upward of a file."""

import os
import re
from collections.abc import Iterator, Mapping
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import Any, cast

from trimtab.checks.nearest import NEAR, likeness, nearest
from trimtab.checks.place import Place
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.toml import MAX_BYTES, read_toml
from trimtab.checks.record import record
from trimtab.checks.silence.silence import Silence
from trimtab.errors import InputError, Problem, input_error

NAME = "pyproject.toml"
MAX_ENTRIES = 1_000
"""Entries of `allow`, and patterns of one entry."""
_ADDRESSED = r"""\btrimtab["']?\s*[.\]=]"""
_TABLE = r"""(?m)^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*["']?([\w-]{1,40})["']?[ \t]*\.[ \t]*check[ \t]*\]"""
_QUOTED = re.compile(r""""([^"\n]*)"|'([^'\n]*)'""")
_OPTIONS = frozenset(("select", "ignore", "strict", "baseline", "with", "format", "as", "fix"))


@record(kw_only=True)
class Allowed:
    """One entry of `allow`."""

    rule: str
    because: str
    files: tuple[str, ...]
    """Patterns of paths below the folder of `pyproject.toml`; `*` continues over folders."""
    place: Place


@record
class Project:
    """What a `pyproject.toml` says to `check`."""

    folder: Path
    allowed: tuple[Allowed, ...] = ()


def project_of(folder: Path) -> Project | None:
    """The project that a folder belongs to, None if there is no `pyproject.toml` upward; raises InputError."""
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
        if any(_pattern(pattern).match(below) for pattern in each.files)
    }


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(translate(text))


@cache
def _read(folder: Path) -> Project | None:
    path = folder / NAME
    try:
        if not path.is_file():  # a pipe or a device has no end
            return None
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except PermissionError as error:
        if not _may_enter(folder):
            return None
        raise input_error(f"{path}: cannot be read", got=str(error.strerror), where=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise input_error(f"{path}: cannot be read", got=str(error), where=str(path)) from None
    for found in re.finditer(_TABLE, text):
        if found[1] != "trimtab" and likeness(found[1], "trimtab") >= NEAR:
            raise _unknown(
                f"[tool.{found[1]}.check]", "[tool.trimtab.check]", Lines(str(path), text), found[1]
            )
    if re.search(_ADDRESSED, text) is None:
        return Project(folder)
    if len(data) > MAX_BYTES:
        raise input_error(f"{path}: too long", allowed=f"at most {MAX_BYTES:,} bytes", where=str(path))
    return Project(folder, _allowed(Lines(str(path), text)))


def _may_enter(folder: Path) -> bool:
    return os.access(folder, os.X_OK)


def _allowed(lines: Lines) -> tuple[Allowed, ...]:
    tool = read_toml(lines.path, lines.text).get("tool")
    own: Any = cast(Mapping[str, Any], tool).get("trimtab", {}) if isinstance(tool, Mapping) else {}
    table = _keys(_table(own, "tool.trimtab", lines), "tool.trimtab", ("check",), lines).get("check", {})
    check = _keys(_table(table, "tool.trimtab.check", lines), "tool.trimtab.check", ("allow",), lines)
    entries = check.get("allow", [])
    if not isinstance(entries, list):
        raise _wrong(lines.path, "`allow` is not a list")
    if len(cast(list[Any], entries)) > MAX_ENTRIES:
        raise _wrong(lines.path, f"`allow` has more than {MAX_ENTRIES:,} entries")
    rows = _rows(lines)
    return tuple(
        _entry(each, number, lines.path, rows) for number, each in enumerate(cast(list[Any], entries), 1)
    )


def _entry(entry: Any, number: int, path: str, rows: Mapping[str, Iterator[int]]) -> Allowed:
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
    if len(patterns) > MAX_ENTRIES:
        raise _wrong(path, f"entry {number} of `allow` has more than {MAX_ENTRIES:,} files")
    place = Place(path, next(rows.get(rule, iter(())), 1))
    return Allowed(rule=rule, because=because.strip(), files=tuple(patterns), place=place)


def _rows(lines: Lines) -> dict[str, Iterator[int]]:
    """TOML is read without positions: an entry is found by its quoted word, below the first mention of trimtab."""
    begin = re.search(_ADDRESSED, lines.text)
    rows: dict[str, list[int]] = {}
    for found in _QUOTED.finditer(lines.text, begin.start() if begin else 0):
        rows.setdefault(found[1] or found[2] or "", []).append(lines.position(found.start())[0])
    return {word: iter(each) for word, each in rows.items()}


def _table(value: Any, name: str, lines: Lines) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(lines.path, f"`{name}` is not one table")
    return cast(Mapping[str, Any], value)


def _keys(table: Mapping[str, Any], name: str, known: tuple[str, ...], lines: Lines) -> Mapping[str, Any]:
    """The table, if it has no other keys than those known."""
    if unknown := [key for key in table if key not in known]:
        near = nearest(unknown[0], known)
        raise _unknown(f"[{name}]: unknown key `{unknown[0]}`", near, lines, unknown[0], ", ".join(known))
    return table


def _unknown(what: str, near: str, lines: Lines, word: str, allowed: str = "") -> InputError:
    begin = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", lines.text)
    fix = f"did you mean `{near}`?" if near else ""
    if word in _OPTIONS:
        fix = f"it is an option of the command line: `trimtab check --{word} ...`"
    where = lines.where(begin.start()) if begin else lines.path
    return input_error(what, allowed=allowed, fix=fix, where=where)


def _wrong(path: str, got: str) -> InputError:
    return InputError(
        Problem(
            what="[tool.trimtab.check]: not understood",
            got=got,
            allowed='allow = [{rule = "S104", because = "a smoke test", files = "configs/*.json"}]',
            where=path,
        )
    )

"""Checks configurations: reads them, asks the rules, and takes out what is suppressed or known."""

import gc
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.checks.files import Files, speaks_of_training
from trimtab.checks.findings import findings_of, identity
from trimtab.checks.lifetime import undecided
from trimtab.checks.record import record
from trimtab.checks.report import Report, Skipped
from trimtab.checks.rule import Diagnosis
from trimtab.checks.selection import Chosen, chosen_rules
from trimtab.checks.silence.run import Silences
from trimtab.checks.unrecognised import unrecognised
from trimtab.checks.versions import parse_versions
from trimtab.checks.walk import Found, walk
from trimtab.errors import InputError, Problem, input_error

if TYPE_CHECKING:
    from trimtab.checks.baseline import Baseline

Paths = str | Path | Sequence[str | Path]
_GARBAGE = 100_000
"""Objects, of which those of the last files may be garbage, between two collections."""
NOTHING = "there is nothing in it that trimtab checks"


def check(
    paths: Paths,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    as_kind: str | None = None,
    versions: Sequence[str] = (),
    baseline: Path | str | None = None,
    strict: bool = False,
) -> Report:
    """Checks files and folders; `-` is standard input.

    `select` and `ignore` take codes, their beginnings, names and aliases, `as_kind` what `--as` takes, `versions` words
    such as `transformers=5.24.0`. Raises InputError for a wrong option; a file that cannot be read, and one that is
    named and nobody's configuration, is a problem of the report, which then is not `ok`.
    """
    asked = Asked(
        select=select,
        ignore=ignore,
        as_kind=as_kind,
        versions=versions,
        baseline=baseline,
        strict=strict,
    )
    return check_as_asked(paths, asked)


@record(kw_only=True)
class Asked:
    """How a check is to be done: the options of `check`, and what only the command line has."""

    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    as_kind: str | None = None
    versions: Sequence[str] = ()
    baseline: Path | str | None = None
    strict: bool = False
    explain_reading: bool = False
    """Whether the report says what was understood of each file."""
    ignore_unknown: bool = False
    """Whether files that are nobody's configuration are passed over without a word, named or not."""


def check_as_asked(paths: Paths, asked: Asked) -> Report:
    """As `check` does it."""
    chosen = chosen_rules(asked.select, asked.ignore)
    files = Files(as_kind=asked.as_kind, versions=parse_versions(asked.versions))
    remembered = None
    if asked.baseline is not None:
        from trimtab.checks.baseline import read_baseline

        remembered = read_baseline(Path(asked.baseline))
    found, problems = found_files(paths, named_as_found=asked.ignore_unknown)
    run = _Run(files, chosen, Silences(chosen, walked_folders(paths)), explains=asked.explain_reading)
    run.problems += problems
    with _collecting_by_file():
        for each in found:
            run.look_at(each)
            files.release(each.path, keeps_calls=each.path in run.spoken_of)
            if gc.get_count()[0] > _GARBAGE:
                gc.collect(0)
    if asked.ignore_unknown:
        run.skipped.clear()
    return run.report(strict=asked.strict, remembered=remembered)


@contextmanager
def _collecting_by_file() -> Generator[None]:
    """Garbage is collected between two files. What follows a script makes many objects that refer to one
    another; the collector by itself would look through all that is kept of earlier files again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def found_files(paths: Paths, *, named_as_found: bool = False) -> tuple[list[Found], list[Problem]]:
    """Every file that paths name or hold, and a problem for each path that is not there."""
    names = [str(Path(path)) for path in _listed(paths)]
    try:
        return walk(names, named_as_found=named_as_found), []
    except InputError as error:
        missing = {problem.where for problem in error.problems}
        there = [name for name in names if name not in missing]
        return walk(there, named_as_found=named_as_found), list(error.problems)


def walked_folders(paths: Paths) -> tuple[Path, ...]:
    """Folders that are looked through as a whole."""
    return tuple(Path(path).resolve() for path in _listed(paths) if os.path.isdir(path))


def _listed(paths: Paths) -> Sequence[str | Path]:
    if isinstance(paths, Sequence) and not isinstance(paths, str):
        for path in paths:
            _check_path(path)
        return paths
    _check_path(paths)
    return [paths]


def _check_path(path: object) -> None:
    if not isinstance(path, str | Path):
        raise input_error(
            "paths: not a path",
            got=f"{type(path).__name__}: {path!r}"[:60],
            allowed="a file or a folder, or a list of them, each a str or a pathlib.Path",
            fix="name the file, or - for standard input",
        )


class _Run:
    """One run over many files."""

    def __init__(self, files: Files, chosen: Chosen, silences: Silences, *, explains: bool) -> None:
        self.files = files
        self.chosen = chosen
        self.silences = silences
        self.explains = explains
        self.readings: dict[str, tuple[str, ...]] = {}
        self.problems: list[Problem] = []
        self.skipped: list[Skipped] = []
        self.checked: list[str] = []
        self.unknown: set[str] = set()
        """Libraries whose version would decide something and is not known."""
        self.found: dict[object, Diagnosis] = {}
        self.spoken_of: set[str] = set()
        """Files that a finding is about: a fix looks for its calls there."""

    def look_at(self, file: Found) -> None:
        """Checks one file; what goes wrong with it does not touch the others."""
        if file.closed:
            self.skipped.append(Skipped(file.path, f"cannot be read: {file.closed}"))
            return
        try:
            runs = self.files.describe(self.files.document(file.path))
        except InputError as error:
            if file.named or speaks_of_training(file.path):
                self.problems += error.problems
            else:
                self.skipped.append(Skipped(file.path, f"cannot be read: {error.problems[0].what}"))
            return
        if runs:
            self.checked.append(file.path)
            self.unknown |= undecided(runs)
            if self.explains:
                from trimtab.checks.reading import reading

                self.readings[file.path] = reading(runs)
            diagnoses, problems = findings_of(runs, self.chosen)
            self.problems += problems
            for diagnosis in diagnoses:  # a file beside is spoken of from several files
                self.found.setdefault(identity(diagnosis), diagnosis)
                self.spoken_of.add(diagnosis.place.path)
        elif file.named and self.files.is_recognised(file.path):
            self.skipped.append(Skipped(file.path, NOTHING))
        elif file.named:
            self.problems.append(unrecognised(self.files.document(file.path)))

    def report(self, *, strict: bool, remembered: "Baseline | None") -> Report:
        """What it all came to."""
        by_file: dict[str, list[Diagnosis]] = {path: [] for path in self.checked}
        for diagnosis in self.found.values():
            by_file.setdefault(diagnosis.place.path, []).append(diagnosis)
        kept: list[Diagnosis] = []
        for path, diagnoses in by_file.items():
            told = self.silences.apply(self.files.document(path), diagnoses)
            kept += sorted(told, key=lambda each: (each.place.line, each.place.column, each.finding.code))
        kept += self.silences.idle_in_projects()
        old: list[Diagnosis] = []
        if remembered is not None:
            from trimtab.checks.baseline import known

            kept, old, stale = known(remembered, kept, self.checked)
            kept += stale
        told_of = {each.place.path for each in kept}
        return Report(
            diagnoses=tuple(kept),
            files=tuple(self.checked),
            skipped=tuple(self.skipped),
            problems=tuple(self.problems + self.silences.problems),
            silenced=self.silences.num_silenced,
            known=len(old),
            strict=strict,
            unknown_versions=tuple(sorted(self.unknown)),
            readings=self.readings,
            documents={path: self.files.document(path) for path in by_file if path in told_of},
        )

"""What a check of files came to."""

import re
from collections.abc import Mapping
from dataclasses import field

from trimtab.checks.document import Document
from trimtab.checks.record import record
from trimtab.checks.rule import Diagnosis
from trimtab.errors import InputError, Problem
from trimtab.finding import Severity

GREATEST_FIRST: tuple[Severity, ...] = ("error", "warning", "note")


@record
class Skipped:
    """A file that was named and not checked, and why that is no mistake."""

    path: str
    reason: str


@record(kw_only=True)
class Report:
    """The findings of one run over any number of files, in the order of files and lines."""

    diagnoses: tuple[Diagnosis, ...] = ()
    files: tuple[str, ...] = ()
    """Those that were checked."""
    skipped: tuple[Skipped, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What kept files from being checked, perhaps several of one file; the others are checked anyway."""
    silenced: int = 0
    known: int = 0
    """Findings that the baseline remembers."""
    strict: bool = False
    """Whether treat warnings as errors."""
    unknown_versions: tuple[str, ...] = ()
    """Libraries of which a key was renamed or removed in a version, and nobody knows which version is used."""
    readings: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]], repr=False)
    """What was understood of each file, where that was asked for."""
    documents: Mapping[str, Document] = field(default_factory=dict[str, Document], repr=False)
    """Files with findings, by path, as they were read."""

    def __repr__(self) -> str:
        codes = ", ".join(dict.fromkeys(each.finding.code for each in self.diagnoses))
        problems = f", {len(self.problems)} problems" if self.problems else ""
        found = f"{len(self.diagnoses)} findings{f': {codes}' if codes else ''}"
        return f"Report({len(self.files)} files, {found}{problems})"

    @property
    def problems_by_file(self) -> dict[str, list[Problem]]:
        """The problems of each file that has some."""
        found: dict[str, list[Problem]] = {}
        for each in self.problems:
            found.setdefault(re.sub(r"(:\d+){1,2}$", "", each.where) or each.what, []).append(each)
        return found

    @property
    def num_unreadable(self) -> int:
        """Files with problems, so that they were not checked; one that has several mistakes counts once."""
        return len(self.problems_by_file)

    def count(self, severity: Severity) -> int:
        """Findings of one severity."""
        return sum(each.finding.severity == severity for each in self.diagnoses)

    @property
    def ok(self) -> bool:
        """Whether every file was read and checked, and nothing in it counts: `exit_code` is 0."""
        return self.exit_code == 0

    def __bool__(self) -> bool:
        """As `ok`, so that a file that is not there is not taken for a clean one."""
        return self.ok

    @property
    def exit_code(self) -> int:
        """2 where a file could not be read or recognised, else 1 on an error (under `strict` on a
        warning too), else 0."""
        if self.problems:
            return InputError.exit_code
        return int(bool(self.count("error") or (self.strict and self.count("warning"))))

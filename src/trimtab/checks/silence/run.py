"""All suppressions of one run: those of each file, and those of its project, which are known to be idle only at the
end."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from trimtab.checks.catalogue import rules_by_name
from trimtab.checks.document import Document
from trimtab.checks.rule import Diagnosis, Rule
from trimtab.checks.selection import Chosen
from trimtab.checks.silence.apply import apply_silences, faults_of, idle, not_understood
from trimtab.checks.silence.comment import silences_of_comments
from trimtab.checks.silence.pages import PAGES
from trimtab.checks.silence.pyproject import Allowed, Project, project_of, silences_of_project
from trimtab.checks.silence.silence import Silence
from trimtab.errors import InputError, Problem


class Silences:
    """Takes suppressed findings out, file by file."""

    def __init__(self, chosen: Chosen, walked: tuple[Path, ...]) -> None:
        self.num_silenced = 0
        self.problems: list[Problem] = []
        self._ran = chosen.codes
        self._walked = walked
        self._projects: dict[Path, Project | None] = {}
        self._entries: dict[Allowed, Silence] = {}
        """Of projects, each with the surest suppression that it made."""
        self._used: set[Allowed] = set()

    @cached_property
    def _rules(self) -> dict[str, tuple[Rule, ...]]:
        return rules_by_name() | {name.lower(): (rule,) for rule in PAGES for name in (rule.code, rule.name)}

    def apply(self, document: Document, diagnoses: Sequence[Diagnosis]) -> list[Diagnosis]:
        """The findings of a file that remain, and what is wrong with its own suppressions."""
        own, strange = silences_of_comments(document)
        entries = self._entries_for(document)
        if not own and not strange and not entries:
            return [*diagnoses]
        judged = apply_silences(diagnoses, [*own, *entries.values()], self._rules)
        self.num_silenced += len(judged.silenced)
        self._used |= {entry for entry, silence in entries.items() if silence in judged.used}
        told = [*judged.kept, *(not_understood(place, text) for place, text in strange)]
        for silence in own:
            told += faults_of(silence, self._rules)
            if silence not in judged.used:
                told += idle(silence, self._rules, self._has_run)
        return told

    def idle_in_projects(self) -> list[Diagnosis]:
        """What is wrong with the entries of `pyproject.toml`, after the last file."""
        told: list[Diagnosis] = []
        for entry, silence in self._entries.items():
            told += faults_of(silence, self._rules)
            if entry not in self._used:
                told += idle(silence, self._rules, self._has_run)
        return told

    def _entries_for(self, document: Document) -> dict[Allowed, Silence]:
        path = Path(document.path).absolute() if document.path != "-" else Path.cwd() / "-"
        project = self._project(path.parent)
        if project is None or not project.allowed:
            return {}
        entries = silences_of_project(project, path, self._walked)
        for entry, silence in entries.items():
            if entry not in self._entries or silence.is_certain:
                self._entries[entry] = silence
        return entries

    def _project(self, folder: Path) -> Project | None:
        if folder not in self._projects:
            try:
                self._projects[folder] = project_of(folder)
            except InputError as error:
                self.problems += [problem for problem in error.problems if problem not in self.problems]
                self._projects[folder] = None
        return self._projects[folder]

    def _has_run(self, rule: Rule) -> bool:
        return rule.code in self._ran

"""What rules say of runs, each thing once."""

from collections.abc import Iterable
from dataclasses import replace

from trimtab.checks.catalogue import OF_SCRIPTS
from trimtab.checks.description import Description
from trimtab.checks.placeholder import placeholders, says_nothing, without_placeholders
from trimtab.checks.rule import Diagnosis
from trimtab.checks.selection import Chosen
from trimtab.errors import Problem


def findings_of(runs: Iterable[Description], chosen: Chosen) -> tuple[list[Diagnosis], list[Problem]]:
    """Findings in the order of the file; a rule that fails is a bug and a problem, and the others continue."""
    found: dict[object, Diagnosis] = {}
    problems: list[Problem] = []
    for number, run in enumerate(map(without_placeholders, runs)):
        unknown = placeholders(run)
        for rule, check in chosen.rules_for(run.document.syntax):
            if number and rule.code in OF_SCRIPTS:
                continue  # it has seen the whole script
            try:
                for diagnosis in check(run):
                    if not unknown or not says_nothing(diagnosis, unknown):
                        found.setdefault(identity(diagnosis), replace(diagnosis, tool=run.tool))
            except Exception as error:
                problems.append(_bug(rule.code, run, error))
    return sorted(found.values(), key=_order), problems


def identity(diagnosis: Diagnosis) -> object:
    """What makes two findings one: two runs of one file that share a setting give one finding about it."""
    return diagnosis.finding.code, diagnosis.place, diagnosis.key or diagnosis.finding.message


def _order(diagnosis: Diagnosis) -> tuple[str, int, int, str]:
    return diagnosis.place.path, diagnosis.place.line, diagnosis.place.column, diagnosis.finding.code


def _bug(code: str, run: Description, error: Exception) -> Problem:
    return Problem(
        what=f"{run.document.path}: the rule {code} failed; this is a bug of trimtab",
        got=f"{type(error).__name__}: {error}",
        fix=f"report it with the file; until then `--ignore {code}`",
        where=run.document.path,
    )

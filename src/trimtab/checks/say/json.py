"""Findings as JSON, in a form that stays: what is added later is added, and `version` tells of anything else."""

import json
from typing import Any

from trimtab import __version__
from trimtab.checks.edits import AddKey, Edit, RemoveKey, RenameKey, SetValue
from trimtab.checks.evidence import Evidence
from trimtab.checks.report import GREATEST_FIRST, Report
from trimtab.checks.rule import Diagnosis
from trimtab.checks.say.grades import grade, source
from trimtab.checks.say.pages import page_file, page_of
from trimtab.errors import Problem

VERSION = 1


def as_json(report: Report) -> str:
    """One object, indented, with a line end."""
    whole = {
        "version": VERSION,
        "trimtab": __version__,
        "findings": [_finding(each) for each in report.diagnoses],
        "files": list(report.files),
        "skipped": [{"path": each.path, "reason": each.reason} for each in report.skipped],
        "problems": [_problem(each) for each in report.problems],
        "silenced": report.silenced,
        "known": report.known,
        "unknown_versions": list(report.unknown_versions),
        "counts": {severity: report.count(severity) for severity in GREATEST_FIRST},
        "exit_code": report.exit_code,
    }
    if report.readings:
        whole["readings"] = {path: list(lines) for path, lines in report.readings.items()}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _finding(diagnosis: Diagnosis) -> dict[str, Any]:
    finding, place, rule = diagnosis.finding, diagnosis.place, page_of(diagnosis.finding.code)
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line or None,
        "end_column": place.end_column or None,
        "key": diagnosis.key or None,
        "why": finding.why,
        "evidence": [_evidence(each) for each in rule.evidence],
        "fix": {
            "text": finding.fix,
            "safety": diagnosis.safety,
            "edits": [_edit(each) for each in diagnosis.edits],
        },
        "page": page_file(rule),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    opened = getattr(evidence, "opened", True)
    return {
        "grade": grade(evidence),
        "source": source(evidence) or None,
        "text": evidence.text,
        "opened": opened,
    }


def _edit(edit: Edit) -> dict[str, Any]:
    match edit:
        case SetValue():
            return {"action": "set", "key": edit.key, "value": edit.value}
        case AddKey():
            return {"action": "add", "key": edit.key, "value": edit.value, "after": edit.after}
        case RenameKey():
            return {"action": "rename", "key": edit.key, "name": edit.name}
        case RemoveKey():
            return {"action": "remove", "key": edit.key}


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "what": problem.what,
        "got": problem.got,
        "allowed": problem.allowed,
        "fix": problem.fix,
        "where": problem.where,
    }

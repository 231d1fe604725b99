"""Findings as SARIF 2.1.0, which code hosts and editors show; rules with their pages, fixes as replacements."""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trimtab import __version__
from trimtab.checks.baseline import fingerprint
from trimtab.checks.document import Document
from trimtab.checks.fix.apply import applied
from trimtab.checks.fix.tree import CannotMend
from trimtab.checks.place import Place
from trimtab.checks.read.lines import Lines
from trimtab.checks.report import Report
from trimtab.checks.rule import Diagnosis, Rule
from trimtab.checks.say.github import relative
from trimtab.checks.say.page import page_text
from trimtab.checks.say.pages import page_of
from trimtab.errors import Problem

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_sarif(report: Report) -> str:
    """One log with one run."""
    codes = sorted({each.finding.code for each in report.diagnoses})
    run = {
        "tool": {
            "driver": {
                "name": "trimtab",
                "semanticVersion": __version__,
                "rules": [_rule(page_of(code)) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "exitCode": report.exit_code,
                "toolExecutionNotifications": [_notification(each) for each in report.problems],
            }
        ],
        "results": [
            _result(each, codes.index(each.finding.code), report.documents.get(each.place.path))
            for each in report.diagnoses
        ],
    }
    return (
        json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)
        + "\n"
    )


def _rule(rule: Rule) -> dict[str, Any]:
    text = page_text(rule)
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ")},
        "fullDescription": {"text": rule.why},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"name": rule.name, "aliases": list(rule.aliases), "since": rule.since},
    }


def _result(diagnosis: Diagnosis, index: int, document: Document | None) -> dict[str, Any]:
    finding = diagnosis.finding
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": f"{finding.message}. {finding.why} To fix it: {finding.fix}."},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(diagnosis.place.path)},
                    "region": _region(diagnosis.place),
                }
            }
        ],
        "partialFingerprints": {"trimtabFinding/v1": fingerprint(diagnosis, Path())},
    }
    if document is not None and (change := _change(diagnosis, document)) is not None:
        result["fixes"] = [
            {
                "description": {"text": f"{finding.fix} ({diagnosis.safety})"},
                "artifactChanges": [
                    {"artifactLocation": {"uri": _uri(diagnosis.place.path)}, "replacements": [change]}
                ],
            }
        ]
    return result


def _change(diagnosis: Diagnosis, document: Document) -> dict[str, Any] | None:
    """What the edit replaces; only of a single edit, because the places of a second move with the first."""
    if len(diagnosis.edits) != 1:
        return None
    before = document.text
    try:
        after = applied(before, document, diagnosis.edits[0], diagnosis.place)
    except CannotMend:
        return None
    shorter = min(len(before), len(after))
    start = next((index for index in range(shorter) if before[index] != after[index]), shorter)
    most = shorter - start
    same = next((index for index in range(most) if before[-1 - index] != after[-1 - index]), most)
    place = Lines(diagnosis.place.path, before).place(start, len(before) - same)
    return {
        "deletedRegion": _region(place),
        "insertedContent": {"text": after[start : len(after) - same]},
    }


def _region(place: Place) -> dict[str, int]:
    region = {"startLine": place.line, "startColumn": place.column}
    return region | ({"endLine": place.end_line, "endColumn": place.end_column} if place.end_line else {})


def _notification(problem: Problem) -> dict[str, Any]:
    return {"level": "error", "message": {"text": str(problem)}}


def _uri(path: str) -> str:
    told = relative(path)
    return Path(told).as_uri() if Path(told).is_absolute() else quote(os.fsencode(told))

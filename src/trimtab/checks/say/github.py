"""Findings as workflow commands of GitHub Actions: annotations at the lines of a pull request."""

import os
from collections.abc import Mapping
from pathlib import PurePath

from trimtab.checks.report import Report
from trimtab.checks.rule import Diagnosis
from trimtab.errors import Problem

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def as_github(report: Report) -> str:
    """One command a line; see GitHub's page on workflow commands."""
    lines = [*map(_finding, report.diagnoses), *map(_problem, report.problems)]
    return "".join(line + "\n" for line in lines)


def command(level: str, properties: Mapping[str, str], text: str) -> str:
    """`::error file=a.yaml,line=3::text`, with what has a meaning in it escaped."""
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {told}::{_text(text)}"


def _finding(diagnosis: Diagnosis) -> str:
    finding, place = diagnosis.finding, diagnosis.place
    properties = {"file": relative(place.path), "line": str(place.line)}
    if place.end_line:
        properties["endLine"] = str(place.end_line)
    if place.end_line in (0, place.line):  # columns are shown within one line only
        properties["col"] = str(place.column)
        if place.end_column:
            properties["endColumn"] = str(place.end_column)
    properties["title"] = f"{finding.code} {finding.name}"
    text = f"{finding.message}\nwhy: {finding.why}\nfix: {finding.fix}\nmore: trimtab explain {finding.code}"
    return command(_LEVELS[finding.severity], properties, text)


def _problem(problem: Problem) -> str:
    return command("error", {"title": "trimtab check"}, str(problem))


def relative(path: str) -> str:
    """From the working folder, with forward slashes, where it lies below it."""
    below = os.path.relpath(path) if os.path.isabs(path) else path
    return PurePath(path if below.startswith("..") else below).as_posix()


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")

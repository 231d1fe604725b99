"""All rules at a glance, and what is seen before the first step and while a run runs."""

from collections.abc import Sequence
from typing import Any

from trimtab.checks.rule import Rule
from trimtab.checks.say.grades import best_first, grade, source
from trimtab.checks.say.page import readable
from trimtab.checks.say.pages import PAGES_FOLDER, page_file
from trimtab.run_findings.spec import RunFinding

STAGES = {
    "C": "the configuration file itself",
    "D": "data",
    "M": "model",
    "L": "loss",
    "S": "step",
    "K": "checkpoint",
    "E": "evaluate and decode",
    "X": "export",
    "P": "plan and machine",
}
"""What the letter of a code says, in the order in which data flows."""


CHECK = "in a file, by `trimtab check`"
"""When a rule finds something."""


def as_table(rules: Sequence[Rule], seen: Sequence[RunFinding] = ()) -> str:
    """One rule a line, under the name of its stage; then what is seen of a run, with the time at which."""
    width = max((len(each.name) for each in (*rules, *seen)), default=0)
    lines: list[str] = []
    for letter, stage in STAGES.items():
        here = [rule for rule in rules if rule.code.startswith(letter)]
        if here:
            lines += ["", f"{letter}  {stage}"]
            lines += [
                f"{rule.code}  {rule.name:<{width}}  {rule.severity:<7}  {_grade(rule)}" for rule in here
            ]
    counted = f"{len(rules)} rules"
    if seen:
        lines += ["", "Seen before the first step and while a run runs"]
        lines += [f"{page.code}  {page.name:<{width}}  {page.severity:<7}  {page.when}" for page in seen]
        counted += f", and {len(seen)} findings of runs"
    return "\n".join([*lines[1:], "", f"{counted}; `trimtab explain CODE` shows the page of one"])


def as_objects(rules: Sequence[Rule], seen: Sequence[RunFinding] = ()) -> list[dict[str, Any]]:
    """For JSON; what is seen of a run has the same keys, as far as there is something to say."""
    return [*map(_rule_object, rules), *map(_seen_object, seen)]


def _rule_object(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "message": readable(rule.message),
        "why": readable(rule.why),
        "fix": {"text": readable(rule.fix.text), "safety": rule.fix.safety},
        "evidence": [
            {"grade": grade(each), "source": source(each) or None, "text": each.text}
            for each in best_first(rule.evidence)
        ],
        "aliases": list(rule.aliases),
        "tips": list(rule.tips),
        "symptoms": list(rule.symptoms),
        "since": rule.since,
        "when": CHECK,
        "page": page_file(rule),
    }


def _seen_object(page: RunFinding) -> dict[str, Any]:
    return {
        "code": page.code,
        "name": page.name,
        "severity": page.severity,
        "message": page.seen,
        "why": page.why,
        "fix": {"text": page.fix, "safety": None},
        "evidence": [],
        "aliases": [],
        "tips": [],
        "symptoms": list(page.symptoms),
        "since": None,
        "when": page.when,
        "page": f"{PAGES_FOLDER}/{page.code}.md",
    }


def _grade(rule: Rule) -> str:
    best = best_first(rule.evidence)
    return grade(best[0]) if best else ""

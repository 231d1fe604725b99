"""All rules at a glance."""

from collections.abc import Sequence
from typing import Any

from trimtab.checks.rule import Rule
from trimtab.checks.say.grades import best_first, grade, source
from trimtab.checks.say.page import readable
from trimtab.checks.say.pages import page_file

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


def as_table(rules: Sequence[Rule]) -> str:
    """One rule a line, under the name of its stage."""
    width = max((len(rule.name) for rule in rules), default=0)
    lines: list[str] = []
    for letter, stage in STAGES.items():
        here = [rule for rule in rules if rule.code.startswith(letter)]
        if here:
            lines += ["", f"{letter}  {stage}"]
            lines += [
                f"{rule.code}  {rule.name:<{width}}  {rule.severity:<7}  {_grade(rule)}" for rule in here
            ]
    return "\n".join([*lines[1:], "", f"{len(rules)} rules; `trimtab explain CODE` shows the page of one"])


def as_objects(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """For JSON."""
    return [
        {
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
            "page": page_file(rule),
        }
        for rule in rules
    ]


def _grade(rule: Rule) -> str:
    best = best_first(rule.evidence)
    return grade(best[0]) if best else ""

"""What a run found out about itself, in order of weight, each with the text of its page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from trimtab.checks.say.explain import explanation
from trimtab.report.markdown import html_of
from trimtab.report.run_data import RunData
from trimtab.run_findings.catalog import ALL

WEIGHT = {"error": 0, "warning": 1, "note": 2}
MOST = 60
"""Findings of different codes that are shown."""
MOST_STEPS = 8
_OF_AN_EVALUATION = "of_an_evaluation"


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """Every occurrence of a code together, by its newest."""

    code: str
    name: str
    severity: str
    message: str
    why: str
    fix: str
    where: str
    count: int
    steps: tuple[int, ...]
    """The newest steps that it was reported at, ascending; 0 is before the first step."""
    explains: tuple[str, ...]
    """Codes that were found as well, and that this one may have brought about."""
    is_over: bool
    """Whether it is of an evaluation, and a later evaluation looked for it again and did not report it."""
    page: Markup
    """Its page as HTML; empty for an unknown code."""

    @property
    def when(self) -> str:
        """At which steps, in words."""
        if self.steps == (0,):
            return "before the first step"
        shown = ", ".join(f"{step:,}" for step in self.steps)
        more = f"{self.count} times, last at step " if self.count > len(self.steps) else "at step "
        return more + shown


def findings_of(run: RunData) -> list[ShownFinding]:
    """The findings of a run, those that weigh most first. What may have brought others about weighs as much as they do
    and comes before them; among equals the newest is first."""
    by_code = _by_code(run)
    over = {code: _is_over(run, those) for code, those in by_code.items()}
    weight = {code: WEIGHT.get(str(those[-1].get("severity")), 3) for code, those in by_code.items()}
    found = [
        _shown(
            code, those, is_over=over[code], explains=[each for each in _explained(code) if each in by_code]
        )
        for code, those in by_code.items()
    ]

    def rank(each: ShownFinding) -> tuple[bool, int, bool, int]:
        holding = [weight[code] for code in each.explains if not over[code]]
        return each.is_over, min([weight[each.code], *holding]), not holding, -max(each.steps, default=0)

    return sorted(found, key=rank)[:MOST]


def _explained(code: str) -> tuple[str, ...]:
    return next((each.explains for each in ALL if each.code == code), ())


def counts_of(run: RunData) -> dict[str, int]:
    """How many codes of each severity hold, without their pages."""
    found = dict.fromkeys(WEIGHT, 0)
    for those in _by_code(run).values():
        severity = those[-1].get("severity")
        if severity in found and not _is_over(run, those):
            found[severity] += 1
    return found


def _by_code(run: RunData) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for each in run.findings:
        code = each.get("code")
        if isinstance(code, str) and code:
            found.setdefault(code[:20], []).append(each)
    return found


def _is_over(run: RunData, those: Sequence[dict[str, Any]]) -> bool:
    """Errors are reported at each evaluation that finds them, other findings only when they are new."""
    newest = those[-1]
    if newest.get("severity") != "error" or not newest.get(_OF_AN_EVALUATION):
        return False
    evaluated = [each["step"] for each in run.evaluations if isinstance(each.get("step"), int)]
    return max(_steps(those), default=0) < max(evaluated, default=0)


def _steps(those: Sequence[dict[str, Any]]) -> list[int]:
    return sorted({each["step"] for each in those if isinstance(each.get("step"), int)})


def _shown(
    code: str, those: Sequence[dict[str, Any]], *, is_over: bool, explains: Sequence[str]
) -> ShownFinding:
    newest = those[-1]
    steps, severity = _steps(those), str(newest.get("severity", "note"))
    return ShownFinding(
        code=code,
        name=_text(newest, "name"),
        severity=severity if severity in WEIGHT else "note",
        message=_text(newest, "message"),
        why=_text(newest, "why"),
        fix=_text(newest, "fix"),
        where=_text(newest, "where"),
        count=len(those),
        steps=tuple(steps[-MOST_STEPS:]),
        explains=tuple(explains),
        is_over=is_over,
        page=page_of(code),
    )


def page_of(code: str) -> Markup:
    """The page of a rule or finding as HTML, without its headline; empty where there is none."""
    found = explanation(code)
    if not found.text.startswith(f"# {code} "):
        return Markup("")
    return html_of(found.text.partition("\n")[2])


def _text(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    return value[:4000] if isinstance(value, str) else ""

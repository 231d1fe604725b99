"""A rule: its page, its check and its test are one file, `rules/CODE_name.py`, that holds `RULE` and `check`."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from trimtab.checks.description import Description
from trimtab.checks.edits import Edit
from trimtab.checks.evidence import Evidence
from trimtab.checks.place import Place
from trimtab.checks.record import record
from trimtab.checks.setting import Setting
from trimtab.errors import one_line, shortened
from trimtab.finding import Finding, Severity

Safety = Literal["same training", "changes training"]
MOST_SHOWN = 400
"""Characters of one field of a message; a value in a file may have millions."""

Check = Callable[[Description], "Iterator[Diagnosis]"]


@record
class Fix:
    """What to do, in words; `safety` says whether doing it changes what is trained."""

    text: str
    safety: Safety = "changes training"


@record
class Example:
    """A small configuration: its text, and the file name by which its kind is recognised."""

    file: str
    text: str
    versions: str = ""
    """As `--with` takes them: `transformers=5.24.0 peft=0.21.2`."""
    beside: tuple[tuple[str, str], ...] = ()
    """Other files of the folder, as (name, text)."""


@record(kw_only=True)
class Diagnosis:
    """A finding at a place, with the edits that would fix it."""

    finding: Finding
    place: Place
    key: str = ""
    """The key it is about, as written."""
    edits: tuple[Edit, ...] = ()
    """Empty if a person has to decide."""
    safety: Safety = "changes training"
    tool: str = ""
    """Whose configuration it is about: of several pieces of evidence the one about this tool is shown."""


@record(kw_only=True)
class Rule:
    """The page of a rule. `message`, `why` and the fix may have {fields}, filled by `at`."""

    code: str
    """Letter of the stage (D data, M model, L loss, S step, K checkpoint, E evaluate and decode, X export, P plan and
    machine, C the configuration file itself) and three digits; never used again for another rule."""
    name: str
    """Reads after "allow" and names the wrong: warmup-longer-than-run."""
    severity: Severity
    """error: the run fails, or does not do what is written; warning: likely worse than it need be; note: worth knowing,
    or the evidence is mixed."""
    message: str
    why: str
    evidence: tuple[Evidence, ...]
    fix: Fix
    bad: Example
    good: Example
    aliases: tuple[str, ...] = ()
    """Labels in the references: PREC001, TT201."""
    tips: tuple[str, ...] = ()
    """Claims of the seed documents that it applies: S0-102."""
    symptoms: tuple[str, ...] = ()
    """What people see, in their words: `loss is NaN`, `repeats the same words`."""
    since: str = "0.1"

    def at(
        self,
        where: Setting | Place,
        *,
        edits: tuple[Edit, ...] = (),
        severity: Severity | None = None,
        **fields: Any,
    ) -> Diagnosis:
        """A diagnosis at a setting or a place, texts filled with fields; `severity` where a condition lowers it."""
        is_setting = isinstance(where, Setting)
        key = where.key if is_setting else ""
        place = where.place if isinstance(where, Setting) else where
        if isinstance(where, Setting) and where.is_option and not self.code.startswith("C"):
            # A command line may say something else than the default that is read here.
            severity = "warning" if (severity or self.severity) == "error" else severity
        filled = {name: _shown(value) for name, value in {"key": key, **fields}.items()}
        finding = Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            message=self.message.format(**filled),
            why=self.why.format(**filled),
            fix=self.fix.text.format(**filled),
            where=str(place),
        )
        return Diagnosis(finding=finding, place=place, key=key, edits=edits, safety=self.fix.safety)


def _shown(value: Any) -> Any:
    """What comes from a file, in one line and no longer than a person reads; numbers are left to the message."""
    if not isinstance(value, str):
        return value
    text = one_line(shortened(value)[: MOST_SHOWN + 1])
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."

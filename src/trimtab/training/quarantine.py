"""A refused window, looked at line by line: the worst examples are written down, a NaN is traced to where it began."""

from dataclasses import dataclass

from trimtab.build import Parts
from trimtab.checkpoint.journal import Journal
from trimtab.finding import Finding
from trimtab.run_findings.steps import REFUSED_WINDOW_NOT_LOOKED_INTO
from trimtab.training.example_losses import suspect_examples, worst_examples
from trimtab.training.trace import non_finite_traced, trace
from trimtab.types import GlobalBatch, SkipReason

BLAMED = {SkipReason.NOT_FINITE: "S901", SkipReason.LOSS_SPIKE: "S902", SkipReason.GRADIENT_SPIKE: "S903"}
"""Refusals whose window is looked at, with their codes."""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Writes `quarantine.jsonl`."""

    journal: Journal
    parts: Parts

    def look_into(
        self, window: GlobalBatch, skip_reason: SkipReason, *, step: int, traced: bool
    ) -> list[Finding]:
        """What is to be told of a refused window; where it was not finite, with `traced`, also where that began.

        Never raises: the run was saved from the window, and must not end by looking at it.
        """
        if skip_reason not in BLAMED:
            return []
        findings: list[Finding] = []
        try:
            suspects = suspect_examples(self.parts, window, step=step)
            for each in suspects:
                self.journal.write(each.to_dict(code=BLAMED[skip_reason]))
            findings.append(worst_examples(suspects))
            found = trace(self.parts, window, step=step) if traced else None
            if found is not None:
                findings.append(non_finite_traced(found, step=step))
        except Exception as error:
            findings.append(not_looked_into(error, step=step))
        return findings


def not_looked_into(error: Exception, *, step: int) -> Finding:
    """A window that could not be looked at, as where memory ran out."""
    reason = (str(error).splitlines() or [""])[0]
    return REFUSED_WINDOW_NOT_LOOKED_INTO.found(
        f"step {step}: the refused window could not be looked at: {type(error).__name__}: {reason}"
    )

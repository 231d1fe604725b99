"""Analyzes the batch of a skipped step line by line: logs the worst examples, traces a NaN to its origin."""

from dataclasses import dataclass
from typing import assert_never

from trimtab.build import Parts
from trimtab.checkpoint.journal import Journal
from trimtab.finding import Finding
from trimtab.run_findings.steps import REFUSED_WINDOW_NOT_LOOKED_INTO
from trimtab.training.example_losses import suspect_examples, worst_examples
from trimtab.training.trace import non_finite_traced, trace
from trimtab.types import GlobalBatch, SkipReason


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
        if (code := code_of(skip_reason)) is None:
            return []
        findings: list[Finding] = []
        try:
            suspects = suspect_examples(self.parts, window, step=step)
            for each in suspects:
                self.journal.write(each.to_dict(code=code))
            findings.append(worst_examples(suspects))
            # The modules of a model that is divided among ranks run in all of them or in none.
            traced = traced and self.parts.sharding is None
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
        f"step {step}: the batch of the skipped step could not be analyzed: {type(error).__name__}: {reason}"
    )


def code_of(skip_reason: SkipReason) -> str | None:
    """The code of the finding about a refused window; None if the window is not to blame."""
    match skip_reason:
        case SkipReason.NOT_FINITE:
            return "S901"
        case SkipReason.LOSS_SPIKE:
            return "S902"
        case SkipReason.GRADIENT_SPIKE:
            return "S903"
        case SkipReason.NONE | SkipReason.OVERFLOW | SkipReason.MASKED:
            return None
        case _:
            assert_never(skip_reason)

"""What a replay found, for people and for programs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.errors import one_line
from trimtab.guard.outlier import median
from trimtab.replaying.evidence import Column, Evidence, Fault, Measure, fault
from trimtab.replaying.explanation import explanation
from trimtab.replaying.left_out import LeftOut
from trimtab.training.example_losses import SuspectExample

SHOWN_EXAMPLES, SHOWN_CHARACTERS = 5, 100
TITLES: dict[Fault, str] = {
    "data": "the data is at fault",
    "state": "the state is at fault",
    "data_and_state": "data and state together are at fault",
    "not_reproduced": "not reproduced",
    "no_spike": "no spike",
}


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """A step of a run, judged again."""

    run: Path
    step: int
    started_from: int
    """The checkpoint whose weights the replay began with; 0 is the beginning of the run."""
    evidence: Evidence
    examples: tuple[SuspectExample, ...]
    """The worst of the window by the weights that met it, the worst first."""
    trace: str = ""
    """The first module and tensor that was not finite; empty if all is finite."""
    device: str = "cpu"
    older_is_untrained: bool = False
    """Whether the older weights are those that the run began with, before any step."""
    left_out: LeftOut | None = None
    """What is known of the step where the run has left it out since it went back; None if the run took it."""

    def __repr__(self) -> str:
        return f"ReplayReport({str(self.run)!r}, step {self.step}, fault {self.fault!r})"

    @property
    def fault(self) -> Fault:
        """The verdict."""
        return fault(self.evidence)

    @property
    def explanation(self) -> str:
        """Why the verdict is this one, and what to do."""
        return explanation(
            self.evidence,
            device=self.device,
            older_is_untrained=self.older_is_untrained,
            left=self.left_out,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers that are not finite are the texts nan, inf and -inf."""
        evidence = self.evidence
        return {
            "run": str(self.run),
            "step": self.step,
            "started_from": self.started_from,
            "fault": self.fault,
            "explanation": self.explanation,
            "exact": evidence.exact,
            "refused": evidence.refused,
            "left_out": None if self.left_out is None else self.left_out.to_dict(),
            "recorded": _plain(evidence.recorded),
            "replayed": _plain(evidence.now.window),
            "columns": [
                {
                    "weights_of_step": column.step,
                    "window": _plain(column.window),
                    "others": [_plain(each) for each in column.others],
                    "stands_out": stands_out,
                }
                for column, stands_out in (
                    (evidence.now, evidence.stands_out),
                    (evidence.older, evidence.stood_out),
                )
            ],
            "trace": self.trace,
            "examples": [
                {**each.to_dict(code=""), "loss": _json(each.loss), "stands_out": each.stands_out}
                for each in self.examples
            ],
        }

    def render(self) -> str:
        """Lines for people."""
        evidence, now = self.evidence, self.evidence.now
        begun = f"checkpoint {self.started_from}" if self.started_from else "the beginning of the run"
        lines = [
            f"{self.run}, step {self.step}: replayed from {begun}, {self.step - self.started_from} steps"
        ]
        if evidence.recorded is not None:
            same = (
                "the same to the last bit"
                if evidence.exact
                else f"loss differs by {evidence.difference:.2g} of it"
            )
            lines += [
                f"  as it was   {_both(evidence.recorded)}",
                f"  replayed    {_both(now.window)}   {same}",
            ]
        else:
            was = "not written down" if self.left_out is None else "left out since the run went back"
            lines += [f"  as it was   {was}", f"  replayed    {_both(now.window)}"]
        for column in (now, evidence.older) if evidence.older.step != now.step else (now,):
            lines.append(
                f"  weights of step {column.step}: this window {_both(column.window)}; "
                f"{len(column.others)} others, median {_both(middle_of(column))}"
            )
        lines += [f"{TITLES[self.fault]}: {self.explanation}"]
        lines += [f"first not finite: {self.trace}"] if self.trace else []
        return "\n".join([*lines, *_example_lines(self.examples)])


def middle_of(column: Column) -> Measure:
    """Median loss and median norm of the other windows; NaN where half are not finite."""
    return Measure(
        *(_median([getattr(each, key) for each in column.others]) for key in ("loss", "grad_norm"))
    )


def _median(values: Sequence[float]) -> float:
    return median([math.inf if math.isnan(each) else each for each in values]) if values else math.nan


def _example_lines(examples: Sequence[SuspectExample]) -> list[str]:
    lines = ["worst examples of the window:"]
    for each in examples[:SHOWN_EXAMPLES]:
        lines.append(f"  {each.corpus} line {each.line} ({each.place}), {each.targets} tokens: {each.reason}")
        lines += [
            f"    {side}  {_short(text)}" for side, text in (("source", each.source), ("target", each.target))
        ]
    more = len(examples) - SHOWN_EXAMPLES
    return [*lines, f"  and {more} more; --json has them all"] if more > 0 else lines


def _short(text: str) -> str:
    cut = text[:SHOWN_CHARACTERS]
    return one_line(cut) + (f"... ({len(text):,} characters)" if len(text) > len(cut) else "")


def _both(measure: Measure) -> str:
    return f"loss {measure.loss:.4g}, gradient norm {measure.grad_norm:.4g}"


def _plain(measure: Measure | None) -> dict[str, Any] | None:
    if measure is None:
        return None
    return {"loss": _json(measure.loss), "grad_norm": _json(measure.grad_norm)}


def _json(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)

"""The guard: all rules, asked in order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.finding import Finding
from trimtab.guard.budget import Budget
from trimtab.guard.finite import non_finite
from trimtab.guard.outlier import OutlierRule, OutlierWindow
from trimtab.guard.streak import CAP, Streak


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the step may be applied, and why not."""

    apply: bool
    finding: Finding | None = None
    """What was seen, where the step is refused or the run must be looked at."""
    streak: int = 0
    """Steps refused in a row, this one among them."""
    unsettled: bool = False
    """So many were refused in a row that you must decide: the data has changed (`Guard.accept_level`), or the
    weights are damaged (go back to an older checkpoint)."""
    over_budget: bool = False
    """So many of the last steps were refused that the run should stop."""


class Guard:
    """Judges each step before the weights move. Deterministic: the same numbers give the same verdicts.

    `rule` has the constants of the outlier rule, `cap` how many refused steps in a row are unsettling.
    """

    def __init__(self, rule: OutlierRule | None = None, *, cap: int = CAP) -> None:
        self.outliers = OutlierWindow(rule or OutlierRule())
        self.streak = Streak(cap)
        self.budget = Budget()

    def judge(self, loss: float, grad_norm: float) -> Verdict:
        """The verdict on a step with this loss (nats per token) and this gradient norm before clipping.

        What is refused enters no statistic; what is accepted does, so call it once a step.
        """
        finding = non_finite(loss, grad_norm) or self.outliers.judge(loss, grad_norm)
        refused = finding is not None
        if not refused:
            self.outliers.accept(loss, grad_norm)
        streak = self.streak.after(refused=refused)
        budget = self.budget.after(refused=refused)
        if self.streak.unsettled:
            finding = self.streak.finding()
        return Verdict(
            apply=not refused,
            finding=budget or finding,
            streak=streak,
            unsettled=self.streak.unsettled,
            over_budget=self.budget.over,
        )

    def accept_level(self) -> None:
        """The data has changed: forgets the old level and learns the new one from the next steps."""
        self.outliers.forget()
        self.streak.length = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint."""
        return {
            "outliers": self.outliers.to_dict(),
            "streak": self.streak.to_dict(),
            "budget": self.budget.to_dict(),
        }

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint; parts that are missing start again."""
        self.outliers.from_dict(saved.get("outliers", {}))
        self.streak.from_dict(saved.get("streak", {}))
        self.budget.from_dict(saved.get("budget", {}))

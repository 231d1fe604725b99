"""Counts the guard's verdicts on the host: streaks, the budget of skipped steps, and rollbacks."""

from collections import deque
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any, assert_never

from trimtab.config.guard import GuardConfig
from trimtab.finding import Finding
from trimtab.guard.budget import Budget
from trimtab.guard.finite import not_applied
from trimtab.guard.outlier import gradient_spike, loss_spike, median
from trimtab.guard.streak import Streak
from trimtab.types import SkipReason

REWIND_WINDOW = 1000
"""Steps within which `guard.rewinds` are counted."""
MARGIN = 20
"""So many steps before the first refused one and after the last are left out with them (Chowdhery et al., arXiv
2204.02311, section 5.1, passed over 200 to 500 batches)."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted step, for comparing the weights of then and now on its window."""

    step: int
    position: int
    """Of the stream, where its window begins."""
    loss: float
    """Nats per target, as it was trained on."""
    grad_norm: float


@dataclass(slots=True)
class Skips:
    """Counts steps in their order; the same numbers give the same decisions, on a GPU ten steps later."""

    config: GuardConfig
    streak: Streak = field(init=False)
    budget: Budget = field(default_factory=Budget)
    accepted: deque[Accepted] = field(init=False)
    """The last accepted steps before the streak at hand, oldest first."""
    onset: int = 0
    """First step of the streak at hand; 0 if there is none."""
    broken: int = 0
    """First step of the streak at hand that was not finite; 0 if there is none."""
    unsettled: list[int] = field(default_factory=list[int])
    """Onset, last step and first step that was not finite of a streak that reached the cap and awaits a decision. It is
    kept though an accepted step may follow before the decision, on a GPU."""
    rewound: list[int] = field(default_factory=list[int])
    """The steps from which the run went back, newest last."""
    masked: list[list[int]] = field(default_factory=list[list[int]])
    """First and last steps of the stretches that are left out since."""

    def __post_init__(self) -> None:
        self.streak = Streak(self.config.cap)
        self.accepted = deque(maxlen=self.config.window)

    @property
    def must_decide(self) -> bool:
        """Whether the run must stop for a decision before the next step."""
        return bool(self.unsettled) or self.budget.over

    def after(
        self, skip_reason: SkipReason, *, step: int, position: int, loss: float, grad_norm: float
    ) -> list[Finding]:
        """Counts one more step, whose window began at `position`; what is to be told of it."""
        if skip_reason == SkipReason.MASKED:
            found = self.budget.after(refused=self.was_skipped(step))
            return [found] if found else []
        if skip_reason == SkipReason.OVERFLOW:
            return []  # a loss scale that finds its size says nothing about the run
        refused = skip_reason != SkipReason.NONE
        length = self.streak.after(refused=refused)
        over_budget = self.budget.after(refused=refused)
        if not refused:
            self.onset = self.broken = 0
            self.accepted.append(Accepted(step, position, loss, grad_norm))
            return [over_budget] if over_budget else []
        self.onset = self.onset or step
        self.broken = self.broken or (step if skip_reason == SkipReason.NOT_FINITE else 0)
        if self.streak.unsettled:
            self.unsettled = [self.onset, step, self.broken]
        findings = [self.finding(skip_reason, step=f"step {step}", loss=loss, grad_norm=grad_norm)]
        if length == self.config.cap:
            findings.append(self.streak.finding())
        return [*findings, *([over_budget] if over_budget else [])]

    def finding(self, skip_reason: SkipReason, *, step: str, loss: float, grad_norm: float) -> Finding:
        """The finding of one skipped step."""
        match skip_reason:
            case SkipReason.LOSS_SPIKE:
                return loss_spike(loss, usual=median([each.loss for each in self.accepted]), step=step)
            case SkipReason.GRADIENT_SPIKE:
                usual = median([each.grad_norm for each in self.accepted])
                return gradient_spike(grad_norm, usual=usual, step=step)
            case SkipReason.NOT_FINITE:
                return not_applied(loss, grad_norm, step=step)
            case SkipReason.NONE | SkipReason.OVERFLOW | SkipReason.MASKED:
                raise AssertionError(f"no finding for {skip_reason!r}")
            case _:
                assert_never(skip_reason)

    def was_skipped(self, step: int) -> bool:
        """Whether a step that is left out was refused on the branch that was left: the budget counts it again, since
        the checkpoint from which the run went on had not counted it yet."""
        return any(first + MARGIN <= step <= last - MARGIN for first, last in self.masked)

    def resolve_streak(self) -> None:
        """Restarts the streak, after a decision to continue."""
        self.streak.length = self.onset = self.broken = 0
        self.unsettled = []

    def may_rewind(self, step: int) -> bool:
        """Whether the run may go back once more."""
        return sum(each > step - REWIND_WINDOW for each in self.rewound) < self.config.rewinds

    def after_rewind(self, gone: "Skips", *, step: int, masked: tuple[int, int]) -> None:
        """Takes over, after a rewind from `step`, what must not be forgotten of the branch that was left."""
        self.rewound = [*gone.rewound, step]
        self.masked = [*gone.masked, list(masked)]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint."""
        return {
            "streak": self.streak.to_dict(),
            "budget": self.budget.to_dict(),
            "accepted": [list(astuple(each)) for each in self.accepted],
            "onset": self.onset,
            "broken": self.broken,
            "unsettled": self.unsettled,
            "rewound": self.rewound,
        }

    def from_dict(self, saved: Mapping[str, Any], *, masked: list[list[int]]) -> None:
        """Goes on from a checkpoint; parts that are missing start again."""
        self.streak.from_dict(saved.get("streak", {}))
        self.budget.from_dict(saved.get("budget", {}))
        self.accepted.clear()
        self.accepted.extend(Accepted(*each) for each in saved.get("accepted", ()))
        self.onset = int(saved.get("onset", 0))
        self.broken = int(saved.get("broken", 0))
        self.unsettled = list(saved.get("unsettled", ()))
        self.rewound = list(saved.get("rewound", ()))
        self.masked = masked

"""The guard: all rules, asked in order."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsFloat

from trimtab.arguments import instance_of, whole_number
from trimtab.finding import Finding
from trimtab.guard.budget import Budget
from trimtab.guard.finite import non_finite
from trimtab.guard.outlier import OutlierRule, OutlierWindow
from trimtab.guard.over_ranks import number_of, whole_step
from trimtab.guard.saved_state import checked_state
from trimtab.guard.streak import CAP, MOST_IN_A_ROW, Streak
from trimtab.world import WhichRanks, checked_ranks


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

    def __bool__(self) -> bool:
        """The same as `apply`, so that `if guard.judge(loss, norm):` does what it says."""
        return self.apply


class Guard:
    """Judges each step before the weights move. Deterministic: the same numbers give the same verdicts.

    `rule` has the constants of the outlier rule, `cap` how many refused steps in a row are unsettling. In a loop of
    several processes every rank asks its own guard in every step, and all get the same verdict, made from the numbers
    of all of them; `ranks="alone"` is for processes that each train a model of their own, a process group for those
    that share one.
    """

    def __init__(self, rule: OutlierRule | None = None, *, cap: int = CAP, ranks: WhichRanks = "all") -> None:
        example = "Guard(OutlierRule(window=256)), with OutlierRule from trimtab.guard"
        rule = instance_of(
            OutlierRule() if rule is None else rule,
            OutlierRule,
            name="Guard: rule",
            allowed="an OutlierRule, or nothing for the usual one",
            fix=example,
        )
        fix = f"leave it out ({CAP})"
        cap = whole_number(cap, name="Guard: cap", least=1, most=MOST_IN_A_ROW, fix=fix)
        self.outliers = OutlierWindow(rule)
        self.streak = Streak(cap)
        self.budget = Budget()
        self.ranks = checked_ranks(ranks, part="Guard")

    def judge(self, loss: SupportsFloat, grad_norm: SupportsFloat) -> Verdict:
        """The verdict on a step with this loss (the *mean* per target, as `accumulate_batches` returns it; a sum would
        follow the length of the batches) and this gradient norm before clipping: floats, or tensors with one number.

        What is refused enters no statistic; what is accepted does, so call it once a step, on every rank. Over several
        ranks the loss is the mean of theirs; their norms are equal where gradients are summed first, and else count as
        parts of one gradient. Raises InputError for what is no number, for several processes without a process group,
        and where the guards of two ranks have seen different steps.
        """
        loss, grad_norm = whole_step(
            number_of(loss, name="loss"),
            number_of(grad_norm, name="grad_norm"),
            memory=self.fingerprint(),
            ranks=self.ranks,
        )
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

    def fingerprint(self) -> int:
        """A number that differs, but for chance, between two guards that would judge differently."""
        window = self.outliers
        memory = (window.rule, len(window.losses), sum(window.losses), sum(window.log_norms))
        return zlib.crc32(repr((memory, self.streak, self.budget.steps, len(self.budget.refused))).encode())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint."""
        return {
            "window": self.outliers.rule.window,
            "outliers": self.outliers.to_dict(),
            "streak": self.streak.to_dict(),
            "budget": self.budget.to_dict(),
        }

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint, where `saved` is what `to_dict` gave. InputError for anything else, and for the
        state of a guard with another window; this guard is then as it was."""
        state = checked_state(saved, window=self.outliers.rule.window)
        self.outliers.from_dict(state["outliers"])
        self.streak.from_dict(state["streak"])
        self.budget.from_dict(state["budget"])

    if not TYPE_CHECKING:  # else every name would be an attribute for a type checker

        def __getattr__(self, name: str) -> Any:
            """Names the adapters where a library takes the guard for one of its callbacks."""
            if name.startswith("on_") or name in ("setup", "state_key"):
                raise AttributeError(
                    f"a Guard is no callback, and has no {name!r}: call guard_trainer(trainer, guard) of "
                    "trimtab.adapters.hugging_face_guard for the Trainer of transformers, or pass "
                    "callbacks=[GuardCallback(guard)] of trimtab.adapters.lightning_guard to that of Lightning"
                )
            raise AttributeError(f"'Guard' object has no attribute {name!r}")

"""S902 and S903: a loss or a gradient norm far above what the last accepted steps had."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trimtab.arguments import real_number, whole_number
from trimtab.finding import Finding
from trimtab.run_findings.steps import GRADIENT_SPIKE, LOSS_SPIKE

NORMAL_MAD = 1.4826
"""The standard deviation of a normal distribution is so many median absolute deviations."""
LEAST_NORM = 1e-30
"""A norm of zero counts as this, for its logarithm."""
MOST_STEPS = 10_000
"""Of the window, and before the rule speaks: a longer one would not speak within most runs."""
MOST_DEVIATIONS, MOST_LEAST_DEVIATION = 50.0, 1.0
"""Bounds of the other constants; beyond them hardly anything is an outlier, which only `math.inf` says openly."""


@dataclass(frozen=True, slots=True)
class OutlierRule:
    """The constants. Median and median absolute deviation (MAD) hold still while outliers come, and refused steps
    never enter the window: with mean and deviation over all steps, ten spikes in a cluster hide one another.

    Raises InputError for values with which the rule could hardly ever speak, or would refuse every step: steps are at
    most 10,000, deviations at most 50 or exactly `math.inf`, which switches that half of the rule off, and least
    deviations at most 1.
    """

    window: int = 128
    """Accepted steps that are remembered."""
    active_from: int = 64
    """Accepted steps before the rule speaks; a shorter window speaks as soon as it is full."""
    loss_deviations: float = 8.0
    """The loss may be so many deviations (1.4826 MAD) above its median."""
    norm_deviations: float = 10.0
    """The same for the logarithm of the gradient norm, whose right tail is long."""
    least_loss_deviation: float = 1e-3
    """A deviation of the loss counts at least as this share of the median."""
    least_norm_deviation: float = 0.18
    """A deviation of the log norm counts at least as this: a norm below six times the median is no outlier. Text of
    many kinds has windows of more than four times the median that do no harm."""

    def __post_init__(self) -> None:
        for name, least, fix in (
            ("window", 2, "leave it out (128), or take 32 or more"),
            ("active_from", 1, "leave it out (64)"),
        ):
            label = f"OutlierRule.{name}"
            whole_number(getattr(self, name), name=label, least=least, most=MOST_STEPS, fix=fix)
        for name, usual in (("loss_deviations", 8), ("norm_deviations", 10)):
            fix = f"leave it out ({usual}); math.inf switches this half of the rule off"
            if getattr(self, name) != math.inf:
                label = f"OutlierRule.{name}"
                real_number(getattr(self, name), name=label, above=0.0, most=MOST_DEVIATIONS, fix=fix)
        for name in ("least_loss_deviation", "least_norm_deviation"):
            label = f"OutlierRule.{name}"
            real_number(
                getattr(self, name), name=label, least=0.0, most=MOST_LEAST_DEVIATION, fix="leave it out"
            )


@dataclass(slots=True)
class OutlierWindow:
    """What the rule remembers."""

    rule: OutlierRule = OutlierRule()
    losses: deque[float] = field(default_factory=deque[float])
    log_norms: deque[float] = field(default_factory=deque[float])

    def judge(self, loss: float, grad_norm: float) -> Finding | None:
        """The finding where one is an outlier; both finite. Changes nothing."""
        bounds = self.bounds()
        if bounds is None:
            return None
        loss_bound, norm_bound = bounds
        if loss > loss_bound:
            return loss_spike(loss, usual=median(self.losses), bound=loss_bound)
        if grad_norm > norm_bound:
            middle = math.exp(median(self.log_norms))
            return gradient_spike(grad_norm, usual=middle, bound=norm_bound)
        return None

    def bounds(self) -> tuple[float, float] | None:
        """Largest loss and largest gradient norm that pass; None while too little is known."""
        if len(self.losses) < min(self.rule.active_from, self.rule.window):
            return None
        rule, middle = self.rule, median(self.losses)
        spread = max(NORMAL_MAD * deviation(self.losses), rule.least_loss_deviation * abs(middle))
        log_spread = max(NORMAL_MAD * deviation(self.log_norms), rule.least_norm_deviation)
        log_bound = median(self.log_norms) + rule.norm_deviations * log_spread
        return middle + rule.loss_deviations * spread, math.exp(min(log_bound, 700.0))

    def accept(self, loss: float, grad_norm: float) -> None:
        """Remembers a step that was applied."""
        self.losses.append(loss)
        self.log_norms.append(math.log(max(grad_norm, LEAST_NORM)))
        while len(self.losses) > self.rule.window:
            self.losses.popleft()
            self.log_norms.popleft()

    def forget(self) -> None:
        """Begins again, after the level has changed for good."""
        self.losses.clear()
        self.log_norms.clear()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint, oldest first."""
        return {"losses": list(self.losses), "log_norms": list(self.log_norms)}

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint."""
        self.losses = deque(saved.get("losses", ()))
        self.log_norms = deque(saved.get("log_norms", ()))


def median(values: Sequence[float] | deque[float]) -> float:
    """The middle value; of an even number the lower one, as on the device."""
    return sorted(values)[(len(values) - 1) // 2]


def deviation(values: Sequence[float] | deque[float]) -> float:
    """The median absolute deviation from the median."""
    middle = median(values)
    return median([abs(value - middle) for value in values])


def loss_spike(loss: float, *, usual: float, bound: float | None = None, step: str = "the update") -> Finding:
    """Says so of a step with this loss; `usual` is the median of the accepted ones."""
    return LOSS_SPIKE.found(f"{step} was skipped: loss {loss:.4g}, {_against(usual, bound)}")


def gradient_spike(
    norm: float, *, usual: float, bound: float | None = None, step: str = "the update"
) -> Finding:
    """Says so of a step with this gradient norm; `usual` is the median of the accepted ones."""
    return GRADIENT_SPIKE.found(f"{step} was skipped: gradient norm {norm:.4g}, {_against(usual, bound)}")


def _against(usual: float, bound: float | None) -> str:
    allowed = "" if bound is None else f", at most {bound:.4g} passes"
    return f"the median of accepted steps is {usual:.4g}{allowed}"

"""What losses and norms say about a bad step: its data, the state, or both. Plain numbers in, a verdict out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from trimtab.guard.outlier import NORMAL_MAD, OutlierRule, OutlierWindow, deviation, median

Fault = Literal["data", "state", "data_and_state", "not_reproduced", "no_spike"]

FEWEST = 4
"""Finite measures that a level can be told from."""
LEAST_DEVIATION = 0.02
"""A deviation of the loss counts at least as this share of the median."""
DEVIATIONS, DEVIATIONS_IF_SUSPECTED = 6.0, 3.0
"""So far above the others a window stands out; less is asked of one that was refused, or stands out already."""
LEAST_NORM_DEVIATION = 0.05
"""Of the logarithm of a norm among steps of the same weights, which differ less than those of a run."""
SAME = 0.02
"""Losses that differ by at most this share are the same, where kernels add up in another order each time."""
USUAL_RULE = OutlierRule()


@dataclass(frozen=True, slots=True)
class Measure:
    """One window by one set of weights."""

    loss: float
    """Nats per target token."""
    grad_norm: float
    """Before clipping."""

    @property
    def finite(self) -> bool:
        """Whether both are numbers."""
        return math.isfinite(self.loss) and math.isfinite(self.grad_norm)


@dataclass(frozen=True, slots=True)
class Column:
    """One set of weights, measured on the window in question and on others."""

    step: int
    """The weights after so many steps."""
    window: Measure
    others: tuple[Measure, ...]

    def stands_out(self, *, deviations: float) -> bool:
        """Whether the window is far worse than the others by these weights."""
        return is_outlier(self.window, self.others, deviations=deviations)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was measured."""

    recorded: Measure | None
    """What the run wrote down for the step; None if it did not."""
    now: Column
    """By the weights that met the window."""
    older: Column
    """By weights of an earlier step; the same ones if there are none."""
    refused: bool = False
    """Whether the run refused the step, as it wrote down."""
    refused_again: bool = True
    """Whether the replay refused it too, by the guard's own verdict; asked where the numbers are not written down."""
    history: tuple[Measure, ...] = ()
    """Recorded steps before, applied ones only, the newest last."""
    rule: OutlierRule = USUAL_RULE
    """The run's own, by which the history is judged."""

    @property
    def deviations(self) -> float:
        """How many make an outlier."""
        return DEVIATIONS_IF_SUSPECTED if self.refused else DEVIATIONS

    @property
    def stands_out(self) -> bool:
        """Whether only this window is bad by the weights that met it."""
        return self.now.stands_out(deviations=self.deviations)

    @property
    def stood_out(self) -> bool:
        """Whether it is by older weights as well."""
        return self.older.stands_out(deviations=DEVIATIONS_IF_SUSPECTED)

    @property
    def exact(self) -> bool:
        """Whether the replay gave the recorded numbers to the last bit."""
        return self.recorded is not None and repr(self.recorded) == repr(self.now.window)

    @property
    def difference(self) -> float:
        """Relative difference of the recorded and the replayed loss; NaN where one is not finite."""
        if self.recorded is None:
            return math.nan
        return abs(self.now.window.loss - self.recorded.loss) / max(abs(self.recorded.loss), 1e-9)

    @property
    def reproduced(self) -> bool:
        """Whether the replay showed what the run saw; true where nothing was recorded, unless it was refused then, and
        nothing is bad now."""
        if self.recorded is None:
            return not self.refused or self.refused_again or self.stands_out or self.state_is_bad
        if self.exact:
            return True
        then, again = self.recorded, self.now.window
        if not (then.finite and again.finite):
            return then.finite == again.finite
        spiked = [is_outlier(each, self.now.others, deviations=self.deviations) for each in (then, again)]
        return spiked[0] == spiked[1] and (spiked[0] or self.difference <= SAME)

    @property
    def state_is_bad(self) -> bool:
        """Whether the weights that met the window are far worse on other windows too."""
        others = self.now.others
        if others and not any(each.finite for each in others):
            return True
        return is_worse(others, self.older.others) or is_above(others, self.history, rule=self.rule)


def fault(evidence: Evidence) -> Fault:
    """The verdict.

    `state` where other windows are just as bad by the replayed weights; otherwise `data` where the window stands out by
    older weights too, `data_and_state` where it does by the replayed ones alone.
    """
    if not evidence.reproduced:
        return "not_reproduced"
    if evidence.state_is_bad:
        return "state"
    if not evidence.stands_out:
        return "no_spike"
    return "data" if evidence.stood_out else "data_and_state"


def is_outlier(one: Measure, others: Sequence[Measure], *, deviations: float) -> bool:
    """Whether a window is not finite though others are, or far above them: so many deviations of the loss, or of the
    logarithm of the norm, as the guard's rule counts them."""
    known = [each for each in others if each.finite]
    if not one.finite:
        return bool(known)
    rule = OutlierRule(
        active_from=FEWEST,
        loss_deviations=deviations,
        norm_deviations=deviations,
        least_norm_deviation=LEAST_NORM_DEVIATION,
    )
    bounds = _bounds(known, rule=rule)
    return bounds is not None and (one.loss > bounds[0] or one.grad_norm > bounds[1])


def is_worse(measures: Sequence[Measure], than: Sequence[Measure]) -> bool:
    """Whether one level of losses is far above another of the same windows."""
    finite = [each.loss for each in measures if each.finite]
    healthy = [each.loss for each in than if each.finite]
    if len(healthy) < FEWEST:
        return False
    if 2 * len(finite) < len(measures):
        return True
    middle = median(healthy)
    spread = max(NORMAL_MAD * deviation(healthy), LEAST_DEVIATION * abs(middle))
    return median(finite) > middle + DEVIATIONS * spread


def is_above(
    measures: Sequence[Measure], history: Sequence[Measure], *, rule: OutlierRule = USUAL_RULE
) -> bool:
    """Whether half of the measures are above what the run's own steps before allow by its rule."""
    bounds = _bounds(history, rule=rule)
    if bounds is None or not measures:
        return False
    above = [not each.finite or each.loss > bounds[0] or each.grad_norm > bounds[1] for each in measures]
    return 2 * sum(above) > len(above)


def _bounds(measures: Sequence[Measure], *, rule: OutlierRule) -> tuple[float, float] | None:
    window = OutlierWindow(replace(rule, least_loss_deviation=LEAST_DEVIATION))
    for each in measures:
        window.accept(each.loss, each.grad_norm)
    return window.bounds()

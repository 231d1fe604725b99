"""The average beside single checkpoints, measured by the same hand."""

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor

from trimtab.averaging.gauge import Gauge, Measured
from trimtab.averaging.report import AVERAGE, AverageReport, Comparison


def compared(
    report: AverageReport, gauge: Gauge, average: Mapping[str, Tensor], singles: Mapping[str, Measured]
) -> AverageReport:
    """The report with losses and scores of the single ones, and of the average, which is measured now."""
    measured = {**singles, AVERAGE: gauge.measure(average)}
    comparison = Comparison(
        metric=gauge.metric,
        set=gauge.chosen,
        how=gauge.how,
        signature=gauge.signature,
        lower_is_better=gauge.lower_is_better,
        scores={label: each.score for label, each in measured.items()},
    )
    losses = {name: {label: each.losses[name] for label, each in measured.items()} for name in gauge.sets}
    perplexities = {
        name: {label: each.perplexities.get(name, {}) for label, each in measured.items()}
        for name in gauge.sets
        if any(name in each.perplexities for each in measured.values())
    }
    return replace(report, losses=losses, perplexities=perplexities, comparison=comparison)

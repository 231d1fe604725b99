from pathlib import Path

import pytest

from trimtab.averaging.comparing import compared
from trimtab.averaging.gauge import Gauge
from trimtab.averaging.members import open_member
from trimtab.averaging.report import AverageReport


@pytest.mark.parametrize("metric", ["loss", "chrf"])
def test_single_ones_and_the_average_stand_beside_each_other(run, metric):
    first, second = open_member(f"{run}@10"), open_member(f"{run}@40")
    gauge = Gauge.of(second, metric=metric)
    singles = {each.label: gauge.measure(each.load()) for each in (first, second)}
    report = compared(AverageReport(Path("x"), (first.label,), {}), gauge, second.load(), singles)
    scores, losses = report.comparison.scores, report.losses["valid"]
    assert list(scores) == list(losses) == [first.label, second.label, "average"]
    assert scores["average"] == scores[second.label]
    assert losses["average"] == losses[second.label]
    assert (scores == losses) == (metric == "loss")
    assert report.comparison.best_single == second.label
    assert report.comparison.gain == 0
    assert bool(report.comparison.signature) == (metric == "chrf")

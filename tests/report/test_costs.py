import json
import math

import pytest

from tests.report.folder_of_a_run import step_line, write_run
from trimtab.report.costs import memory_of, time_of
from trimtab.report.run_data import open_run


def test_where_the_time_went_adds_up(tmp_path):
    found = {what: seconds for what, seconds, _ in time_of(open_run(write_run(tmp_path / "my")))}
    assert found == pytest.approx({"steps": 189.0, "waiting for data": 81.0, "evaluations": 7.5})


def test_planned_memory_stands_beside_what_was_measured(tmp_path):
    found = memory_of(open_run(write_run(tmp_path / "my")))
    assert (found.planned, found.measured, found.difference) == (10**10, 11 * 10**9, 0.1)
    assert found.owners == [("moments", 6e9), ("weights", 4e9)]


def test_while_a_run_trains_the_largest_reading_stands_for_the_peak(tmp_path):
    folder = write_run(tmp_path / "my", metrics=[step_line(n, gpu_memory=n * 10**9) for n in (1, 3, 2)])
    (folder / "facts.json").write_text("[]")
    found = memory_of(open_run(folder))
    assert (found.measured, found.planned) == (3 * 10**9, 0)
    assert math.isnan(found.difference)


@pytest.mark.parametrize(
    "facts", [{}, {"memory": 3}, {"memory": {"planned": {}, "measured": {"reserved": "x"}}}]
)
def test_a_run_on_a_cpu_has_none(tmp_path, facts):
    folder = write_run(tmp_path / "my")
    (folder / "facts.json").write_text(json.dumps(facts))
    assert memory_of(open_run(folder)) is None

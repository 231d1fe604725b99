import json
import math

import pytest

from tests.lab.laboratory import run_of, with_result, written
from trimtab.errors import InputError
from trimtab.lab.table import described, row_of, table_of

SAME, BETTER = (50.0, 51.0, 49.5, 50.2, 50.8), (52.1, 52.9, 51.6, 52.4, 52.7)


@pytest.fixture
def folder(tmp_path):
    with_result(written(tmp_path, "first", expect="better"), plain=SAME, other=BETTER, again=SAME)
    with_result(written(tmp_path, "second", expect="better"), plain=SAME, other=SAME)
    written(tmp_path, "third", expect="same")
    return tmp_path


def test_the_table_has_each_experiment_with_its_verdict(folder):
    assert {row.name: row.verdict for row in table_of(folder)} == {
        "first": "confirmed", "second": "no effect at this scale", "third": "not run"
    }  # fmt: skip


@pytest.mark.slow
def test_p_values_are_corrected_over_the_table(folder):
    alone = row_of(folder, "first").comparisons[0].result.p
    assert row_of(folder, "first").adjusted == [pytest.approx(2 * alone)]
    for number in range(20):
        with_result(written(folder, f"more{number}", expect="better"), plain=SAME, other=SAME)
    assert row_of(folder, "first").adjusted == [pytest.approx(22 * alone)]
    assert row_of(folder, "first").verdict == "confirmed"


def test_a_run_that_failed_counts_what_was_written_beforehand(folder):
    broken = [
        run_of(99.0, ended="failed"),
        run_of(math.nan),
        {"key": "k", "ended": "finished", "seconds": 1.0},
    ]
    with_result(written(folder, "first", expect="better"), plain=SAME, other=[*broken, 52.0, 52.0])
    row = row_of(folder, "first")
    assert [row.scores["other"][seed] for seed in (1, 2, 3, 4)] == [0, 0, 0, 52.0]
    assert row.verdict == "undecided at this scale"


def test_an_experiment_is_described_with_its_numbers(folder):
    said = described(row_of(folder, "first"))
    for part in ("Is it better?", "arm other: step.optimizer.learning_rate=0.001", "margin 0.5", "5 seeds: confirmed",
                 "verdict: confirmed", "A/A"):  # fmt: skip
        assert part in said
    assert "verdict: not run" in described(row_of(folder, "third"))
    json.dumps([row.to_dict() for row in table_of(folder)], allow_nan=False)


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"experiment": ', "\x00"])
def test_a_result_that_is_none_is_refused(folder, text):
    (folder / "first" / "result.json").write_text(text)
    with pytest.raises(InputError, match="not a result"):
        table_of(folder)

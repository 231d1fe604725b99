import math
import sys

import pytest

from trimtab.checkpoint.log_table import columns, read_metrics
from trimtab.errors import InputError


def test_the_steps_of_a_run_are_columns_of_one_length(trained_run):
    table = read_metrics(trained_run)
    assert table["step"] == list(range(1, 61))
    assert {"loss", "grad_norm", "learning_rate", "tokens_per_second"} <= {*table}
    assert {len(column) for column in table.values()} == {60} == {table.num_rows}
    assert repr(table).startswith("LogTable(60 rows: step, target_tokens")


def test_evaluations_have_a_row_each(trained_run):
    table = read_metrics(str(trained_run), of="evaluations")
    assert (table["step"], table["set"]) == ([20, 40, 60], ["valid"] * 3)
    assert read_metrics(trained_run, of="health")["step"] == [20, 40, 60]


def test_what_a_line_lacks_is_none_and_numbers_that_are_not_finite_are_numbers():
    table = columns([{"step": 1, "loss": "nan"}, {"step": 2, "loss": 3.0, "refused": "loss_spike"}])
    assert math.isnan(table["loss"][0])
    assert (table["loss"][1], table["refused"]) == (3.0, [None, "loss_spike"])
    assert columns([]).num_rows == 0


def test_pandas_and_arrow_take_the_columns(trained_run):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    table = read_metrics(trained_run)
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape == (60, len(table))
    assert str(frame["loss"].dtype) == "float64"
    assert frame.equals(pandas.DataFrame(table))
    assert table.to_arrow().equals(pyarrow.table(dict(table)))


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pandas is not installed"):
        columns([{"step": 1}]).to_pandas()


def test_a_run_or_a_log_that_is_not_there_is_refused(tmp_path, trained_run):
    with pytest.raises(InputError, match="no such run"):
        read_metrics(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"read_metrics: of\n +got +'loss'"):
        read_metrics.__wrapped__(trained_run, of="loss")  # without the checks of types in tests

import json
import math
import os

from hypothesis import given
from hypothesis import strategies as st

from trimtab.report.log_files import MOST_COLUMNS, Columns, LogFile, Records, open_plain


def read(log):
    return [*log.read_new()] if log.has_changed() else []


def test_each_line_comes_once_and_a_line_without_an_end_waits_for_it(tmp_path):
    path = tmp_path / "metrics.jsonl"
    log = LogFile(path)
    assert read(log) == []
    path.write_text('{"step": 1}\n{"step": 2}\n{"st')
    assert read(log) == [{"step": 1}, {"step": 2}]
    with open(path, "a") as file:
        file.write('ep": 3}\n')
    assert read(log) == [{"step": 3}]
    assert not log.has_changed()


def test_a_log_that_was_cut_back_or_replaced_is_read_from_its_top(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n')
    log = LogFile(path)
    assert len(read(log)) == 2
    path.write_text('{"step": 1}\n')
    assert log.has_changed()
    assert log.is_new
    assert [*log.read_new()] == [{"step": 1}]
    other = tmp_path / "other"
    other.write_text('{"step": 7}\n{"step": 8}\n{"step": 9}\n')
    os.replace(other, path)  # as a resume does, larger than before
    assert log.has_changed()
    assert log.is_new
    assert len([*log.read_new()]) == 3


def test_what_is_no_record_is_left_out(tmp_path):
    path = tmp_path / "findings.jsonl"
    path.write_bytes(b'\xff\xfe\x00\n[1]\n"word"\n\n{"a": 1}\n' + b"[" * 100_000 + b"\n")
    assert read(LogFile(path)) == [{"a": 1}]


def test_links_pipes_and_folders_are_not_read(tmp_path):
    (tmp_path / "secret").write_text("{}\n")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert [open_plain(tmp_path / name) for name in ("link", "pipe", "folder", "missing")] == [None] * 4


def test_columns_have_a_row_for_each_record_and_nan_where_one_has_nothing():
    columns = Columns()
    columns.extend(
        [{"a": 1, "skipped": True}, {"b": "inf", "refused": "loss_spike"}, {"a": 10**400, "b": None}]
    )
    assert columns.column("a").tolist()[::2] == [1.0, math.inf]
    assert math.isnan(columns.column("a")[1])
    assert columns.column("b").tolist()[1] == math.inf
    assert columns.column("skipped")[0] == 1
    assert columns.words == {"refused": {1: "loss_spike"}}
    assert len(columns.column("never")) == 3


def test_a_log_of_endless_names_does_not_fill_the_memory():
    columns = Columns()
    columns.extend({f"name{number}": 1.0} for number in range(3 * MOST_COLUMNS))
    assert len(columns.names) == MOST_COLUMNS


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abc"), st.floats() | st.integers() | st.booleans() | st.text(max_size=4)
        ),
        max_size=8,
    )
)
def test_columns_hold_what_was_written(records):
    columns = Columns()
    columns.extend(records)
    for name in "abc":
        found = columns.column(name)
        assert len(found) == len(records)
        for row, record in enumerate(records):
            value = record.get(name)
            if isinstance(value, float | bool) and value == value:
                assert found[row] == value


def test_a_small_log_forgets_what_a_resume_took_back(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"step": 1}) + "\n" + json.dumps({"step": 2}) + "\n")
    records = Records(LogFile(path))
    assert records.refresh()
    assert not records.refresh()
    path.write_text(json.dumps({"step": 1}) + "\n")
    assert records.refresh()
    assert list(records.kept) == [{"step": 1}]

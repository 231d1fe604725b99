import json
import sys

import pyarrow.parquet
import pytest

from tests.data.formats.test_table import PAIRS, save_dataset, table_of
from trimtab.data.formats.arrow import dataset_rows, parquet_rows
from trimtab.errors import InputError


@pytest.fixture
def parquet(tmp_path):
    pyarrow.parquet.write_table(table_of(PAIRS), tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


def test_columns_are_read_row_by_row_and_the_files_are_named(parquet, tmp_path):
    assert list(parquet_rows(parquet).read(("de", "en"))) == [pair[::-1] for pair in PAIRS]
    save_dataset(tmp_path / "set", PAIRS, shards=2)
    rows = dataset_rows(tmp_path / "set", None)
    assert [file.name for file in rows.files] == ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]
    assert list(rows.read(("en", "translation.de"))) == PAIRS


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("ende", "has no column 'ende'"),
        ("translation.fr", "translation.de"),
        ("en.x", "has no column 'en.x'"),
    ],
)
def test_a_missing_column_is_named_with_those_that_are_there(parquet, column, said):
    with pytest.raises(InputError, match=said):
        list(parquet_rows(parquet).read((column, "de")))


def test_a_damaged_file_is_named(parquet, tmp_path):
    parquet.write_bytes(parquet.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"a\.parquet: the file is damaged"):
        list(parquet_rows(parquet).read(("en", "de")))
    save_dataset(tmp_path / "set", PAIRS)
    file = next((tmp_path / "set").glob("*.arrow"))
    file.write_bytes(b"no arrow at all")
    with pytest.raises(InputError, match="the file is damaged"):
        list(dataset_rows(tmp_path / "set", None).read(("en", "de")))


def test_what_is_no_dataset_is_said(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="not a dataset on disk"):
            dataset_rows(folder, None)
    with pytest.raises(InputError, match="no such file"):
        parquet_rows(tmp_path / "a.parquet")
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(InputError, match="without _data_files"):
        dataset_rows(tmp_path, None)


def test_a_dataset_with_its_rows_in_another_order_is_refused(tmp_path):
    save_dataset(tmp_path / "set", PAIRS)
    state = json.loads((tmp_path / "set" / "state.json").read_text())
    (tmp_path / "set" / "state.json").write_text(
        json.dumps({**state, "_indices_files": [{"filename": "i.arrow"}]})
    )
    with pytest.raises(InputError, match="flatten_indices"):
        dataset_rows(tmp_path / "set", None)


def test_a_split_of_a_dataset_without_splits_is_refused(tmp_path):
    save_dataset(tmp_path / "set", PAIRS)
    with pytest.raises(InputError, match="has no splits"):
        dataset_rows(tmp_path / "set", "train")


def test_a_missing_library_is_said_with_the_command_that_brings_it(parquet, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"trimtab\[arrow\]"):
        list(parquet_rows(parquet).read(("en", "de")))

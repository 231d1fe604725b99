import json
import pickle

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.corpora import TrainCorpus
from trimtab.data.corpus import open_corpora, open_corpus
from trimtab.data.formats.table import open_dataset, open_parquet
from trimtab.errors import InputError

PAIRS = [("one", "eins"), ("two\nlines\u2028 \x00", "zwei\tTabs"), ("", "leer"), ("日本", "ニホン")]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def table_of(pairs):
    return pyarrow.table(
        {
            "id": list(range(len(pairs))),
            "en": pyarrow.array([pair[0] for pair in pairs], pyarrow.string()),
            "de": pyarrow.array([pair[1] for pair in pairs], pyarrow.large_string()),
            "translation": [{"en": pair[0], "de": pair[1]} for pair in pairs],
        }
    )


def save_dataset(folder, pairs, shards=1):
    """A folder as `datasets` lays it out: Arrow streams, and a state.json that names them."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05d}-of-{shards:05d}.arrow" for number in range(shards)]
    size = -(-len(pairs) // shards)
    for number, name in enumerate(names):
        table = table_of(pairs[number * size : (number + 1) * size])
        with pyarrow.ipc.new_stream(str(folder / name), table.schema) as stream:
            stream.write_table(table, max_chunksize=2)
    state = {"_data_files": [{"filename": name} for name in names], "_indices_files": None, "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")


def columns(pairs):
    found = [pairs.pair(line) for line in range(len(pairs))]
    assert list(pairs.several(range(len(pairs)))) == found
    return found


@pytest.mark.parametrize(
    ("source", "target"), [("en", "de"), ("translation.en", "translation.de"), ("en", "translation.de")]
)
def test_rows_of_parquet_are_the_pairs(tmp_path, source, target):
    pyarrow.parquet.write_table(table_of(PAIRS), tmp_path / "a.parquet", row_group_size=3)
    pairs = open_parquet(tmp_path / "a.parquet", source=source, target=target, cache=tmp_path / "cache")
    assert columns(pairs) == PAIRS
    assert columns(pickle.loads(pickle.dumps(pairs))) == PAIRS


def test_a_long_row_is_known_before_it_is_read(tmp_path):
    rows = [("one", "eins"), ("x" * 900, "zwei"), ("three", "y" * 50)]
    pyarrow.parquet.write_table(table_of(rows), tmp_path / "a.parquet")
    pairs = open_parquet(tmp_path / "a.parquet", source="en", target="de", cache=tmp_path / "cache")
    assert pairs.longer_than(100).tolist() == [1]
    assert 900 < pairs.num_bytes(1) < 950


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("translation.en", "translation.de")])
def test_rows_of_a_saved_dataset_are_the_pairs(tmp_path, shards, source, target):
    save_dataset(tmp_path / "set", PAIRS, shards)
    pairs = open_dataset(tmp_path / "set", split=None, source=source, target=target, cache=tmp_path / "cache")
    assert columns(pairs) == PAIRS


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6))
def test_any_text_comes_back_as_it_was(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("any")
    pyarrow.parquet.write_table(table_of(pairs), folder / "a.parquet")
    assert columns(open_parquet(folder / "a.parquet", source="en", target="de", cache=folder)) == pairs


def test_the_fingerprint_is_of_the_content(tmp_path):
    pyarrow.parquet.write_table(table_of(PAIRS), tmp_path / "a.parquet")
    pyarrow.parquet.write_table(table_of(PAIRS), tmp_path / "b.parquet", compression="zstd")
    save_dataset(tmp_path / "set", PAIRS)
    named = {"source": "en", "target": "de", "cache": tmp_path / "cache"}
    marks = [open_parquet(tmp_path / f"{name}.parquet", **named).fingerprint for name in "ab"]
    marks.append(open_dataset(tmp_path / "set", split=None, **named).fingerprint)
    assert len(set(marks)) == 1
    pyarrow.parquet.write_table(table_of(PAIRS[:3]), tmp_path / "a.parquet")
    assert open_parquet(tmp_path / "a.parquet", **named).fingerprint != marks[0]


def test_a_table_that_another_run_spools_at_the_same_time_stays_what_workers_read(tmp_path):
    pyarrow.parquet.write_table(table_of(PAIRS), tmp_path / "a.parquet")
    named = {"source": "en", "target": "de", "cache": tmp_path / "cache"}
    pickled = pickle.dumps(open_parquet(tmp_path / "a.parquet", **named))
    for spooled in (tmp_path / "cache").glob("*.jsonl"):
        spooled.unlink()  # as another run that began when there was none yet sees it
    assert columns(open_parquet(tmp_path / "a.parquet", **named)) == PAIRS
    assert columns(pickle.loads(pickled)) == PAIRS


def test_a_split_is_chosen_by_its_name(tmp_path):
    save_dataset(tmp_path / "set" / "train", PAIRS)
    save_dataset(tmp_path / "set" / "test", PAIRS[:1])
    (tmp_path / "set" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    named = {"source": "en", "target": "de", "cache": tmp_path / "cache"}
    assert len(open_dataset(tmp_path / "set", split="test", **named)) == 1
    for split in (None, "dev"):
        with pytest.raises(InputError, match="train, test"):
            open_dataset(tmp_path / "set", split=split, **named)


def test_recipes_name_both(tmp_path):
    pyarrow.parquet.write_table(table_of(PAIRS), tmp_path / "a.parquet")
    save_dataset(tmp_path / "set", PAIRS)
    configs = [
        TrainCorpus(
            pairs="a.parquet", source="en", target="de", both_directions=True, reverse_tags=["<2en>"]
        ),
        TrainCorpus(dataset="set", source="translation.en", target="translation.de"),
    ]
    corpora = open_corpora(configs, root=tmp_path, cache=tmp_path / "cache")
    assert [len(corpus) for corpus in corpora] == [4, 4, 4]
    assert corpora[0].pair(0) == corpora[1].pair(0)[::-1] == corpora[2].pair(0)
    assert corpora[2].place(1) == f"{tmp_path / 'set'}, row 2"


def test_a_row_without_text_is_named(tmp_path):
    table = pyarrow.table({"en": ["a", None], "de": ["b", "c"], "n": [1, 2]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    for source, said in (("en", "row 2 has no text in the column 'en'"), ("n", "row 1 has no text")):
        with pytest.raises(InputError, match=said):
            open_corpus(
                TrainCorpus(pairs="a.parquet", source=source, target="de"),
                root=tmp_path,
                cache=tmp_path / "cache",
            )

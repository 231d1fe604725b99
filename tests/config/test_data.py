import pytest
from pydantic import ValidationError

from trimtab.config.data import DataConfig, LengthFilter, ParallelFiles, TrainCorpus, is_one_set

PAIR = {"source": "a", "target": "b"}


def refused(model, **values) -> str:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(values)
    return str(raised.value)


def test_two_files_or_one_file_with_columns():
    assert ParallelFiles(source="a", target="b").pairs is None
    assert ParallelFiles(pairs="p.tsv", source=1, target=2).source == 1
    assert ParallelFiles(pairs="p.tsv", source="en", target="de").source == "en"


def test_columns_need_a_file_and_are_counted_from_1():
    assert "there is no `pairs` file" in refused(ParallelFiles, source=1, target="b")
    assert "counted from 1" in refused(ParallelFiles, pairs="p.tsv", source=0, target=1)


@pytest.mark.parametrize("side", ["source", "target", "pairs"])
def test_an_empty_path_is_refused(side):
    assert f"{side}: is empty" in refused(ParallelFiles, **{**PAIR, side: ""})


@pytest.mark.parametrize("tag", ["", " ", "two words", "tab\tbed", "wide\u3000space", "▁", "▁the"])
def test_a_tag_is_one_word(tag):
    assert "one word without spaces" in refused(ParallelFiles, **PAIR, tags=[tag])


@pytest.mark.parametrize("weight", [0, -1, 1001])
def test_a_weight_is_above_0_and_at_most_1000(weight):
    assert "weight" in refused(TrainCorpus, **PAIR, weight=weight)


def test_a_length_filter_is_in_order():
    assert "greater than max" in refused(LengthFilter, min=3, max=2)
    assert LengthFilter(min=3, max=3).min == 3


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (PAIR, True),
        ({"pairs": "p.tsv", "source": 1, "target": 2}, True),
        ({"source": "a"}, True),
        ({"dev": PAIR}, False),
        ({"source": PAIR}, False),
        ({"target": PAIR, "pairs": PAIR}, False),
        ({"source": ParallelFiles(**PAIR)}, False),
        ({}, False),
        ([PAIR], False),
        ("dev", False),
    ],
)
def test_one_set_and_several_sets_by_name_are_told_apart(value, is_one):
    assert is_one_set(value) is is_one


def test_a_single_validation_set_is_called_valid():
    assert list(DataConfig.model_validate({"train": [PAIR], "valid": PAIR}).valid) == ["valid"]
    assert list(DataConfig.model_validate({"train": [PAIR], "valid": {"a": PAIR, "source": PAIR}}).valid) == [
        "a",
        "source",
    ]


@pytest.mark.parametrize(
    ("workers", "is_right"), [("auto", True), (0, True), (256, True), (-1, False), (257, False)]
)
def test_workers_are_a_number_or_auto(workers, is_right):
    if is_right:
        assert DataConfig.model_validate({"train": [PAIR], "workers": workers}).workers == workers
    else:
        assert "0 to 256" in refused(DataConfig, train=[PAIR], workers=workers)


def test_there_is_at_least_one_corpus():
    assert "train" in refused(DataConfig, train=[])

import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.corpora import ParallelFiles
from trimtab.config.data import DataConfig, is_one_set

PAIR = {"source": "a", "target": "b"}


def refused(model, **values) -> str:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(values)
    return str(raised.value)


@for_each(
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


@for_each(("workers", "is_right"), [("auto", True), (0, True), (256, True), (-1, False), (257, False)])
def test_workers_are_a_number_or_auto(workers, is_right):
    if is_right:
        assert DataConfig.model_validate({"train": [PAIR], "workers": workers}).workers == workers
    else:
        assert "0 to 256" in refused(DataConfig, train=[PAIR], workers=workers)


def test_there_is_at_least_one_corpus():
    assert "train" in refused(DataConfig, train=[])

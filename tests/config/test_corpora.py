import pytest
from pydantic import ValidationError

from trimtab.config.corpora import ParallelFiles, TrainCorpus

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

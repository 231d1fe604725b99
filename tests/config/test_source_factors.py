import pytest

from tests.for_each import for_each
from trimtab.config.data import DataConfig
from trimtab.config.source_factors import CaseFactor, FileFactor

POS = {"kind": "file", "name": "pos"}
FILES = {"source": "s", "target": "t"}


@for_each(
    "factor",
    [
        {"kind": "file", "name": "case"},
        {"kind": "file", "name": "A-B"},
        {**POS, "combine": "concat"},
        {**POS, "dim": 4},
    ],
)
def test_a_factor_that_is_written_wrong_is_refused(factor):
    with pytest.raises(ValueError, match=r"name|dim"):
        DataConfig.model_validate({"train": [FILES], "source_factors": [factor]})


def test_values_come_in_the_order_of_the_recipe():
    two = {**FILES, "factors": {"b": "B", "a": "A"}}
    factors = [CaseFactor(), FileFactor(name="a"), FileFactor(name="b")]
    data = DataConfig.model_validate({"train": [two], "valid": {**two}, "source_factors": factors})
    assert [*data.train[0].factors] == [*data.valid["valid"].factors] == ["a", "b"]
    assert data.train[0].with_paths(lambda path: f"/{path}").factors == {"a": "/A", "b": "/B"}
    assert data.factor_columns == 2
    with pytest.raises(ValueError, match="given twice"):
        DataConfig.model_validate({"train": [two], "source_factors": [factors[1], factors[1]]})

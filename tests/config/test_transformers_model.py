import pytest
from pydantic import ValidationError

from trimtab.config.transformers_model import TransformersModel

SIZES = {"dim": 8, "num_ids": 20, "num_source_ids": 20}


def test_its_rows_are_padded_and_it_begins_from_its_files():
    model = TransformersModel(path="base", **SIZES)
    assert model.needs_padding
    assert model.warm_start is None


def test_it_needs_a_path():
    with pytest.raises(ValidationError, match="needs one"):
        TransformersModel(**SIZES)

import pytest
from pydantic import ValidationError

from tests.text_run import text_recipe
from trimtab.config.load import load_recipe
from trimtab.config.rope_scaling import RopeScaling
from trimtab.errors import InputError


def test_the_record_has_the_same_numbers():
    record = RopeScaling(factor=8.0).record
    assert (record.factor, record.low_frequency_factor, record.high_frequency_factor) == (8.0, 1.0, 4.0)


def test_high_is_above_low():
    with pytest.raises(ValidationError, match="high_frequency_factor"):
        RopeScaling(factor=8.0, low_frequency_factor=4.0)


def test_other_positions_have_no_wavelengths(tmp_path):
    changes = {"model.rope_scaling": {"factor": 8.0}, "model.positions": "learned"}
    with pytest.raises(InputError, match="only rotary positions have wavelengths"):
        load_recipe(text_recipe(tmp_path, **changes))

import pytest
from pydantic import ValidationError

from trimtab.config.transforms import LengthFilter


def test_a_length_filter_is_in_order():
    with pytest.raises(ValidationError, match="greater than max"):
        LengthFilter(min=3, max=2)
    assert LengthFilter(min=3, max=3).min == 3

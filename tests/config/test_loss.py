import pytest
from pydantic import ValidationError

from trimtab.config.loss import CrossEntropyLoss


def test_the_defaults_smooth_a_little_and_add_nothing():
    assert CrossEntropyLoss() == CrossEntropyLoss(kind="cross_entropy", label_smoothing=0.1, z_loss=0.0)


@pytest.mark.parametrize(
    "values", [{"label_smoothing": 1.0}, {"label_smoothing": -0.1}, {"z_loss": 1.1}, {"kind": "mse"}]
)
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValidationError):
        CrossEntropyLoss.model_validate(values)

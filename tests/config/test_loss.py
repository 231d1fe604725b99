import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.loss import CrossEntropyLoss


def test_the_defaults_smooth_a_little_and_add_nothing():
    assert CrossEntropyLoss() == CrossEntropyLoss(kind="cross_entropy", label_smoothing=0.1, z_loss=0.0)


@for_each("values", [{"label_smoothing": 1.0}, {"label_smoothing": -0.1}, {"z_loss": 1.1}, {"kind": "mse"}])
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ValidationError):
        CrossEntropyLoss.model_validate(values)


def test_truncation_is_off_by_default_and_begins_late():
    assert CrossEntropyLoss().truncate is None
    written = CrossEntropyLoss.model_validate({"truncate": {"error_norm": 1.3}}).truncate
    assert (written.error_norm, str(written.after)) == (1.3, "1000 steps")


@pytest.mark.parametrize("bound", [0, 1.5])
def test_no_error_norm_is_larger_than_the_square_root_of_two(bound):
    with pytest.raises(ValidationError):
        CrossEntropyLoss.model_validate({"truncate": {"error_norm": bound}})

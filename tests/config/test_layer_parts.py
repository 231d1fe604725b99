from typing import get_args

import pytest

from tests.for_each import for_each
from trimtab.config.layer_parts import SUM_WITHOUT_NORM, NormPosition, check_norms
from trimtab.config.model import EncoderDecoderModel


@for_each("place", get_args(NormPosition))
def test_layers_without_norms_begin_as_the_identity_or_are_refused(place):
    assert EncoderDecoderModel(preset="tiny", norm_position=place, rezero=True).rezero
    if place == "none":
        with pytest.raises(ValueError, match="diverge"):
            check_norms(place, rezero=False)
    else:
        check_norms(place, rezero=False)


def test_the_places_that_leave_the_sum_without_a_norm_are_places():
    assert set(SUM_WITHOUT_NORM) < set(get_args(NormPosition))

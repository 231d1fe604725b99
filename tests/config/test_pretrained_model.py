import pytest
from pydantic import ValidationError

from trimtab.config.pretrained_model import PretrainedModel

SIZES = {"dim": 32, "heads": 4, "layers": 2, "feed_forward": 48, "num_ids": 270}


def test_heads_may_have_a_size_of_their_own():
    model = PretrainedModel(path="base", head_size=16, **SIZES)
    assert model.size_of_heads == 16
    assert PretrainedModel(path="base", **SIZES).size_of_heads == 8


@pytest.mark.parametrize("given", [{}, {"path": "base", "warm_start": "run"}])
def test_weights_come_from_one_place(given):
    with pytest.raises(ValidationError):
        PretrainedModel(**SIZES, **given)

import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.autoencoder_model import AutoencoderModel


def test_a_preset_fills_the_sizes_and_what_is_written_beside_it_wins():
    model = AutoencoderModel.model_validate({"preset": "base", "blocks": 2})
    assert (model.dim, model.blocks, model.reduction) == (64, 2, 8)


@for_each(
    ("wrong", "words"),
    [
        ({}, "dim, blocks"),
        ({"preset": "tiny", "reduction": 3}, "2, 4, 8 or 16"),
        ({"preset": "tiny", "latent_channels": 0}, "greater than or equal to 1"),
        ({"preset": "tiny", "latent_noise": -1}, "greater than or equal to 0"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, words):
    with pytest.raises(ValidationError, match=words):
        AutoencoderModel.model_validate(wrong)

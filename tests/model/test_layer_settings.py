import pytest

from trimtab.config.decoder_model import DecoderModel
from trimtab.config.encoder_model import EncoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.layer_settings import LayerSettings


@pytest.mark.parametrize("kind", [EncoderDecoderModel, DecoderModel, EncoderModel])
def test_the_settings_of_every_kind_of_model_have_what_layers_read(kind):
    assert isinstance(kind(preset="tiny"), LayerSettings)

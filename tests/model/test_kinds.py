from trimtab.config.decoder_model import DecoderModel
from trimtab.config.model import EncoderDecoderModel
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.kinds import model_of

SIZES = {"dim": 16, "heads": 2, "layers": 1, "feed_forward": 32}
GIVEN = {"num_ids": 70, "num_source_ids": 70, "max_positions": 64, "seed": 1}


def test_the_settings_say_which_model_it_is():
    assert isinstance(model_of(EncoderDecoderModel.model_validate(SIZES), **GIVEN), EncoderDecoder)
    decoder = model_of(DecoderModel.model_validate(SIZES), **GIVEN)
    assert isinstance(decoder, DecoderOnly)
    assert (decoder.num_ids, decoder.max_positions) == (70, 64)

from tests.for_each import for_each
from trimtab.export.ctranslate2.engine import CTranslate2Model
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.session import Session
from trimtab.types import DecoderSession, FeedsAtOnce, SearchesItself, Translates


@for_each(
    ("kind", "protocol", "does"),
    [
        (EncoderDecoder, Translates, True),
        (EncoderDecoder, SearchesItself, False),
        (CTranslate2Model, SearchesItself, True),
        (Session, DecoderSession, True),
        (Session, FeedsAtOnce, True),
        (EncoderDecoder, DecoderSession, False),
    ],
)
def test_searches_tell_by_its_methods_what_a_model_can_do(kind, protocol, does):
    assert issubclass(kind, protocol) is does

import pytest
from pydantic import ValidationError

from trimtab.config.tokenizer import SentencePieceTokenizer


@pytest.mark.parametrize("wrong", [{"vocabulary_size": 5}, {"character_coverage": 0.9}, {"model": "word"}])
def test_what_sentencepiece_cannot_be_trained_with_is_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        SentencePieceTokenizer(**wrong)

import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.sampling import BpeDropout, SubwordRegularization
from trimtab.config.tokenizer import SentencePieceTokenizer


def test_a_sampling_is_chosen_by_its_kind():
    config = SentencePieceTokenizer.model_validate(
        {"sampling": {"kind": "subword_regularization", "nbest": 64}}
    )
    assert config.sampling == SubwordRegularization(nbest=64)
    config = SentencePieceTokenizer.model_validate({"sampling": {"kind": "bpe_dropout"}})
    assert config.sampling == BpeDropout(dropout=0.1, sides="both")
    assert SentencePieceTokenizer().sampling is None


@for_each(
    "changes",
    [{"alpha": 0}, {"alpha": -1}, {"nbest": 1}, {"nbest": -1}, {"nbest": "some"}, {"sides": "none"}],
)
def test_values_out_of_range_are_refused(changes):
    with pytest.raises(ValidationError, match=next(iter(changes))):
        SubwordRegularization.model_validate(changes)
    with pytest.raises(ValidationError, match="dropout"):
        BpeDropout(dropout=1.1)

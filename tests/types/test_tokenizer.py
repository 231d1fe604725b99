from trimtab.data.tokenizer import load_tokenizer
from trimtab.types import Tokenizer


def test_a_model_of_sentencepiece_is_one_and_its_text_comes_back(trained_run):
    tokenizer = load_tokenizer(trained_run / "tokenizer")
    assert isinstance(tokenizer, Tokenizer)
    (ids,) = tokenizer.encode(["the old ship"])
    assert ids[-1] == tokenizer.end
    assert tokenizer.decode([ids]) == ["the old ship"]
    assert not isinstance("text", Tokenizer)

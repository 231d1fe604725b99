import io

import pytest
import sentencepiece

from tests.export.text_models import LINES, vocabulary
from trimtab.config.load import load_recipe
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizers import Tokenizers
from trimtab.export.hf import llama
from trimtab.export.hf.llama import supports


@pytest.fixture(scope="module")
def recipe(text_run):
    return load_recipe(text_run / "recipe.yaml").recipe


def both(tokenizer: SentencePiece) -> Tokenizers:
    return Tokenizers(tokenizer, tokenizer)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "bytes"])
def test_vocabularies_that_runs_make_can_be_exported(recipe, kind):
    assert supports(recipe, both(vocabulary(kind))) == []


@pytest.mark.parametrize("options", [{"model_type": "char"}, {"treat_whitespace_as_suffix": True}])
def test_other_models_of_sentencepiece_are_refused_by_name(recipe, options):
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=written, vocab_size=60 if "model_type" in options else 400,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, minloglevel=2, hard_vocab_limit=False, **options,
    )  # fmt: skip
    (problem,) = supports(recipe, both(SentencePiece(written.getvalue())))
    assert problem.what.startswith("data.tokenizer")


def test_what_the_library_does_otherwise_is_said():
    told = "\n".join(llama.limits(vocabulary("unigram"), window=77))
    assert "77 tokens" in told
    assert "equally likely" in told
    assert "equally likely" not in "\n".join(llama.limits(vocabulary("bytes"), window=77))
    assert 'from_pretrained("x y")' in llama.usage("x y")

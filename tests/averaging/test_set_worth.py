import math
from pathlib import Path

import pytest

import trimtab
from tests.language_run import PAIRS, language_recipe
from trimtab.averaging.set_worth import set_worth
from trimtab.checkpoint.journal import read_journal
from trimtab.data.corpus import open_corpus
from trimtab.data.text_rows import passage_bytes
from trimtab.launch import train
from trimtab.translator import load_model


def opened(model, cache):
    files = model.recipe.data.valid["valid"]
    most = passage_bytes(model.recipe.data) if model.recipe.is_language_model else None
    return open_corpus(files, root=Path.cwd(), cache=cache, passage_bytes=most)


@pytest.mark.parametrize("changes", [{}, PAIRS], ids=["texts", "pairs"])
def test_a_language_model_is_worth_what_its_run_said(tmp_path, own_cache, changes):
    run = train(language_recipe(tmp_path, **changes, length="10 steps"), out=tmp_path / "run").run
    model = load_model(str(run), device="cpu")
    worth = set_worth(model, opened(model, own_cache))
    (told,) = read_journal(run / "evaluations.jsonl")
    assert worth.loss == pytest.approx(told["loss"], rel=1e-5)
    assert worth.perplexities == {name: pytest.approx(told[name], rel=1e-5) for name in worth.perplexities}
    assert list(worth.perplexities) == ["perplexity", "byte_perplexity", "bits_per_byte"]
    assert worth.perplexities["perplexity"] == pytest.approx(math.exp(worth.loss))


def test_a_translator_is_worth_its_loss_alone(trained_run, own_cache):
    model = load_model(str(trained_run), device="cpu")
    worth = set_worth(model, opened(model, own_cache))
    files = model.recipe.data.valid["valid"]
    found = trimtab.evaluate(str(trained_run), source=files.source, reference=files.target, beam=1)
    assert worth.loss == pytest.approx(found.loss, rel=1e-6)
    assert worth.perplexities == {}

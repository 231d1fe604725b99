import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.export.runs import of_model
from tests.sentencepiece_files import with_pieces
from tests.small_run import small_recipe
from trimtab.config.load import load_recipe
from trimtab.config.modular_model import ModularModel
from trimtab.config.modular_routes import named_route
from trimtab.data.sentencepiece_model import SentencePiece
from trimtab.data.tokenizers import Tokenizers, load_tokenizers
from trimtab.export.hf.marian import supports

RECIPES = Path(__file__).parents[3] / "recipes"


@pytest.fixture(scope="module")
def shared(trained_run):
    return load_tokenizers(trained_run / "tokenizer")


def problems(folder, tokenizers, **changes):
    return supports(load_recipe(small_recipe(folder, **changes)).recipe, tokenizers)


WRITES_TEXT = sorted(
    path.name
    for path in RECIPES.glob("*.yaml")
    if not path.stem.startswith(("recognition", "detection", "diffusion", "autoencoder", "image_"))
)


@pytest.mark.parametrize("name", WRITES_TEXT)
def test_the_recipes_of_the_repository_can_be_exported_but_for_that_of_documents(shared, name):
    recipe = load_recipe(RECIPES / name).recipe
    if isinstance(recipe.model, ModularModel):  # a direction is exported
        _, recipe, _ = named_route(recipe, next(iter(recipe.model.directions)))
    found = [each.what for each in supports(recipe, shared)]
    documents = "data.transforms.0: puts other sentences before each line, which an export cannot"
    prefix = "model.prefix: neither LlamaForCausalLM nor Qwen3ForCausalLM computes this exactly"
    assert found == {"en_de_documents.yaml": [documents], "en_de_decoder.yaml": [prefix]}.get(name, [])


@pytest.mark.parametrize("preset", ["tiny", "small", "base", "big"])
def test_so_can_every_preset(tmp_path, shared, preset):
    sizes = of_model(preset=preset, dim=None, heads=None, layers=None, feed_forward=None)
    assert problems(tmp_path, shared, **sizes) == []


def test_every_key_is_named_at_once(tmp_path, shared):
    changes = of_model(norm="rms", activation="geglu", positions="rotary", tie_embeddings="none")
    assert [each.what.partition(":")[0] for each in problems(tmp_path, shared, **changes)] == [
        "model.norm",
        "model.activation",
        "model.tie_embeddings",
        "model.positions",
    ]


def test_two_vocabularies_cannot_have_tags_for_their_ids_mean_words_on_the_other_side(tmp_path, shared):
    own = shared.target
    apart = Tokenizers(SentencePiece(own.model), own)
    assert problems(tmp_path, apart) == []
    tagged = Tokenizers(SentencePiece(own.model, symbols=("<2de>",)), own)
    (found,) = problems(tmp_path, tagged)
    assert found.what.startswith("data.source_tokenizer: a MarianTokenizer cannot have tags")


@pytest.mark.parametrize(
    ("version", "refused"), [("4.57.3", True), ("5.17.0", True), ("5.18.0", False), ("6.0", False)]
)
def test_vocabularies_of_two_sizes_need_a_transformers_that_searches_with_them(
    monkeypatch, tmp_path, shared, version, refused
):
    # In its place, since the library is a module whose attributes come and go with what other tests have imported.
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(__version__=version))
    own = shared.target
    fewer = SentencePiece(with_pieces(own.model, lambda pieces: pieces[:-1]))
    assert problems(tmp_path, Tokenizers(SentencePiece(own.model), own)) == []
    found = problems(tmp_path, Tokenizers(fewer, own))
    assert [each.got.partition(",")[0] for each in found] == ([f"transformers {version}"] if refused else [])


def test_two_vocabularies_must_agree_on_their_special_symbols(tmp_path, shared):
    own = shared.target
    turned = with_pieces(own.model, lambda pieces: [*pieces[4:], *pieces[:4]])
    (found,) = problems(tmp_path, Tokenizers(SentencePiece(turned), own))
    assert "other ids" in found.what
    assert "and (0, 1, 2, 3)" in found.got

"""What native models can be × CTranslate2, with the real library: exact, or refused by name."""

import itertools

import pytest

from tests.export.runs import of_model, trained
from tests.export.variants import variant
from trimtab.config.export_targets import facts_of
from trimtab.config.load import load_recipe
from trimtab.export.ctranslate2.target import CTranslate2
from trimtab.export.gate import BOUND
from trimtab.export.quantized import Quantized
from trimtab.export.samples import gate_lines
from trimtab.export.translation_gate import compare_translations
from trimtab.exporting import export_model
from trimtab.inference import load_model, load_translator

AFTER = {"norm_position": "after"}
EXACT = {
    "defaults": {},
    "rms": {"norm": "rms"},
    "norm after": AFTER,
    "rms after": {**AFTER, "norm": "rms"},
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "rotary, norm after, rms": {**AFTER, "positions": "rotary", "norm": "rms"},
    "a decoder without positions": {"decoder_positions": "none"},
    "a rotary decoder": {"decoder_positions": "rotary"},
    "a rotary encoder": {"positions": "rotary", "decoder_positions": "learned"},
    "gelu without biases": {"activation": "gelu", "bias": False},
    "silu": {"activation": "silu"},
    "swish, norm after, no biases": {**AFTER, "activation": "swish", "bias": False},
    "swiglu": {"activation": "swiglu"},
    "swiglu without biases, rms, rotary": {
        "activation": "swiglu",
        "bias": False,
        "norm": "rms",
        "positions": "rotary",
    },
    "geglu": {"activation": "geglu"},
    "shared heads of keys": {"kv_heads": 2},
    "one head of keys, rotary": {"kv_heads": 1, "positions": "rotary"},
    "heads of each side": {"encoder_heads": 8, "decoder_heads": 2, "decoder_kv_heads": 1},
    "sizes of each side": {"decoder_layers": 2, "encoder_feed_forward": 24, "decoder_feed_forward": 80},
    "a source matrix": {"tie_embeddings": "decoder"},
    "three matrices": {"tie_embeddings": "none"},
}


@pytest.fixture(scope="module")
def loaded(trained_run):
    return load_model(f"{trained_run}@last", device="cpu")


@pytest.fixture(scope="module")
def lines(loaded):
    return gate_lines(loaded, count=16)


def written(model, folder, kind="float32"):
    target = CTranslate2(kind)
    folder.mkdir(exist_ok=True)
    target.write(model, folder)
    return target.as_users_open_it(folder)


@pytest.mark.slow
@pytest.mark.parametrize("changes", EXACT.values(), ids=EXACT)
def test_every_shape_of_model_comes_out_exact(loaded, lines, tmp_path, changes):
    model = variant(loaded, **changes)
    found = compare_translations(model, written(model, tmp_path / "ct2"), lines)
    assert found.passed, found.render()
    assert 0 < found.worst_token < BOUND / 5


@pytest.mark.quick("int8")
@pytest.mark.parametrize("kind", facts_of("ctranslate2").weights[1:])
def test_rounded_weights_are_near_and_never_the_same(loaded, lines, tmp_path, kind):
    bound = 0.02 if kind == "float16" else 0.6
    model = variant(loaded, kv_heads=2)
    found = compare_translations(
        model, written(model, tmp_path / "ct2", kind), lines, Quantized(kind=kind, most_loss=40.0)
    )
    assert found.passed, found.render()
    assert BOUND < found.worst_token < bound
    assert found.loss.chrf > 60


@pytest.mark.slow
def test_two_vocabularies_and_tags_come_out_exact(tmp_path):
    run = trained(
        tmp_path,
        **of_model(tie_embeddings="decoder", norm="rms"),
        **{
            "data.source_tokenizer": {"vocabulary_size": 290},
            "data.tokenizer": {"vocabulary_size": 300},
            "data.train.0.tags": ["<2de>"],
            "data.valid.tags": ["<2de>"],
        },
    )
    assert export_model(str(run), to="ctranslate2", out=tmp_path / "ct2").gate.passed
    texts = [
        load_translator(each, tags=["<2de>"], device="cpu").translate(["the old ship turns"])
        for each in (str(run), str(tmp_path / "ct2"))
    ]
    assert texts[0] == texts[1]


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("norm_position", ["before", "after"])
def test_every_combination_comes_out_exact(loaded, lines, tmp_path, norm, norm_position):
    """Of positions of both sides, activation, biases, heads and ties: the exhaustive matrix."""
    every = itertools.product(
        ("sinusoidal", "learned", "rotary"),
        ("sinusoidal", "learned", "rotary", "none"),
        ("relu", "gelu", "swiglu"),
        (True, False),
        (4, 1),
        ("all", "decoder", "none"),
    )
    source = lines[:6]
    worst = 0.0
    for number, (positions, own, activation, bias, kv_heads, tie) in enumerate(every):
        changes = {
            "norm": norm,
            "norm_position": norm_position,
            "positions": positions,
            "decoder_positions": own,
            "activation": activation,
            "bias": bias,
            "kv_heads": kv_heads,
            "tie_embeddings": tie,
        }
        model = variant(loaded, steps=2, encoder_layers=1, **changes)
        found = compare_translations(model, written(model, tmp_path / str(number)), source)
        worst = max(worst, found.worst_token)
        assert found.worst_token < BOUND, changes
    assert 0 < worst < BOUND


def test_what_the_recipes_of_the_repository_say_can_be_exported_or_is_named(loaded):
    from pathlib import Path

    found = {
        path.stem: CTranslate2().supports(load_recipe(path).recipe, loaded.tokenizers)
        for path in sorted((Path(__file__).parents[3] / "recipes").glob("*.yaml"))
        if load_recipe(path).recipe.model.kind == "encoder_decoder"
    }
    assert {name for name, problems in found.items() if problems} == {"en_de_documents"}

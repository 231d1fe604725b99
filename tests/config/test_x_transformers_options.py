import pytest

from tests.for_each import for_each
from tests.small_run import small_recipe
from trimtab.config import x_transformers_options
from trimtab.config.export_targets import obstacles
from trimtab.config.load import load_recipe
from trimtab.config.x_transformers_options import REFUSED, known_options
from trimtab.errors import InputError

MODEL = {"kind": "x_transformers", "dim": 32, "heads": 2, "layers": 1, "encoder_layers": 1}


def problem_of(folder, **changes):
    with pytest.raises(InputError) as found:
        load_recipe(small_recipe(folder, model={**MODEL, **changes}))
    return str(found.value)


@for_each(
    ("options", "words"),
    [
        ({"rotary_pos_em": True}, ("model.options.rotary_pos_em", "did you mean `rotary_pos_emb`?")),
        ({"attn_qk_nrm": True}, ("did you mean `attn_qk_norm`?",)),
        ({"ff_glue": True}, ("did you mean `ff_glu`?",)),
        ({"heads": 4}, ("the recipe sets it", "`model.heads`")),
        ({"layer_dropout": 0.1}, ("random numbers",)),
        ({"use_cls_token": True}, ("one vector for a text",)),
        ({"use_adaptive_layernorm": True}, ("an input that trimtab does not give",)),
    ],
)
def test_options_that_cannot_be_passed_on_are_refused_by_name(options, words, tmp_path):
    said = problem_of(tmp_path, options=options)
    assert all(each in said for each in words), said


def test_every_refused_option_is_one_of_the_package():
    """A name that the package no longer has would be refused with a reason that is not true any more."""
    known = known_options()
    assert {"rotary_pos_emb", "attn_flash", "cross_attn_qk_norm", "ff_mult", "emb_dropout"} <= {*known}
    unknown = [name for names in REFUSED.values() for name in names if name not in known]
    assert not unknown


def test_without_the_package_options_are_left_for_the_run_to_refuse(tmp_path, monkeypatch):
    monkeypatch.setattr(x_transformers_options, "find_spec", lambda name: None)
    known_options.cache_clear()
    try:
        load_recipe(small_recipe(tmp_path, model={**MODEL, "options": {"rotary_pos_em": True}}))
        assert not known_options()
    finally:
        known_options.cache_clear()


def test_a_translator_needs_an_encoder_and_a_language_model_has_none(tmp_path):
    assert "model.encoder_layers" in problem_of(tmp_path, encoder_layers=None)
    text = {"task": "language_model", "data.train": [{"text": "train.en"}], "data.valid": {"text": "dev.en"}}
    recipe = small_recipe(tmp_path, model={**MODEL, "decoder_options": {"ff_glu": True}}, **text)
    with pytest.raises(InputError, match="one stack of layers") as found:
        load_recipe(recipe)
    assert "move them to `model.options`" in str(found.value)


@for_each("target", ["hf", "ctranslate2", "onnx", "torch_export", "peft"])
def test_each_export_is_refused_by_name(target, tmp_path):
    model = load_recipe(small_recipe(tmp_path, model=MODEL)).recipe.model
    (problem,) = obstacles(target, model=model, transforms=())
    assert "models of x-transformers" in problem.what


def test_layer_decay_is_refused_since_each_sub_layer_has_a_number_and_its_fix_loads(tmp_path):
    rates = "step.optimizer.learning_rate_multipliers"
    with pytest.raises(InputError, match="numbers attention and feed-forward as layers") as found:
        load_recipe(small_recipe(tmp_path, model=MODEL, **{rates: {"layer_decay": 0.9}}))
    names = {"*.attn_layers.layers.0.*": 0.5}
    assert '`learning_rate_multipliers: {names: {"*.attn_layers.layers.0.*": 0.5}}`' in str(found.value)
    load_recipe(small_recipe(tmp_path, model=MODEL, **{rates: {"names": names}}))

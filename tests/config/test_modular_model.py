"""Settings of a modular model: what is refused, with the fix, and what corpora have from their directions."""

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.modular_run import DIRECTIONS, MODEL
from trimtab.config.load import load_recipe
from trimtab.config.modular_data import of_direction, reversed_name
from trimtab.config.modular_model import ModularModel, Route
from trimtab.config.modular_routes import named_route, plain_recipe
from trimtab.errors import InputError

TREE: dict[str, Any] = {
    "task": "translation",
    "data": {
        "train": [
            {"source": "a.en", "target": "a.de", "direction": "en-de", "both_directions": True},
            {"source": "b.en", "target": "b.pt", "direction": "en-pt", "both_directions": True},
        ],
        "valid": {"en-de": {"source": "d.en", "target": "d.de"}},
    },
    "model": MODEL,
    "length": "10 steps",
}


def tree_with(**changes: Any) -> dict[str, Any]:
    tree = copy.deepcopy(TREE)
    for key, value in changes.items():
        *above, last = key.split("/")
        part: Any = tree
        for name in above:
            part = part[int(name)] if isinstance(part, list) else part.setdefault(name, {})
        part[int(last) if isinstance(part, list) else last] = value
    return tree


def problem_of(**changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        load_recipe(tree_with(**changes))
    assert all(each.fix for each in caught.value.problems), str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"model/directions/en-ru": {"encoder": ["shared"], "decoder": ["de"]}},
            "en-ru: a direction without data",
        ),
        ({"model/decoder_components/fr": 2}, "no direction uses the component fr"),
        ({"model/encoder_components/shared": 2, "model/directions/en-de/encoder": ["shared.0"]}, ""),
        ({"data/train/0/direction": "en-dee"}, "did you mean `en-de`?"),
        ({"data/train/0/direction": ""}, "with a modular model, name the `direction`"),
        (
            {"data/train/0": {"source": "a.en", "target": "a.de"}},
            "needs the direction of each corpus",
        ),
        ({"model/directions/en-de/decoder": ["dee"]}, "no component 'dee'"),
        ({"model/directions/en-de/encoder": ["shared.0-5"]}, "layers 0 to 0"),
        ({"model/directions/en-de/encoder": ["shared", "shared.0"]}, "layer 0 of shared twice"),
        ({"model/directions/en-de/target": "ger"}, "name one language differently"),
        ({"model/directions/en-de/target": "DE"}, "name one language differently"),
        ({"model/encoder_layers": 5}, "remove it, and write the layers"),
        ({"model/directions/x": {"encoder": ["shared"], "decoder": ["de"]}}, "does not say its languages"),
        ({"data/train/1/target": "a.de"}, "is in two languages"),
        ({"data/source_tokenizer": {"kind": "sentencepiece"}}, "not for modular models"),
        ({"step": {"gradients": "released"}}, "kept"),
        ({"parallel": {"kind": "fsdp"}}, "data_parallel"),
        ({"adapter": {"kind": "lora"}}, "adapter"),
        ({"model/directions/en-pt/decoder": ["de"]}, "no direction uses the component pt"),
        ({"model": {"kind": "encoder_decoder", "preset": "tiny"}}, "directions belong to a modular model"),
        ({"data/train/0/reverse_direction": "pt-en"}, "without data"),
    ],
)
def test_what_cannot_hold_together_is_refused_with_a_fix(changes: dict[str, Any], words: str) -> None:
    if not words:
        load_recipe(tree_with(**changes))
        return
    assert words in problem_of(**changes)


def test_layers_that_no_direction_uses_are_named() -> None:
    assert "layers 1 of 2" in problem_of(
        **{
            "model/encoder_components/de": 2,
            "model/directions/de-en/encoder": ["shared", "de.0"],
        }
    )


def test_directions_that_nothing_tells_apart_need_tags() -> None:
    same = {name: {"encoder": ["shared"], "decoder": ["all"]} for name in DIRECTIONS}
    model = {**MODEL, "encoder_components": {"shared": 1}, "decoder_components": {"all": 1}}
    assert "tags: [<2en>]" in problem_of(model={**model, "directions": same})
    tagged = {name: {**each, "tags": [f"<2{name[3:]}>"]} for name, each in same.items()}
    recipe = load_recipe(tree_with(model={**model, "directions": tagged})).recipe
    first = recipe.data.train[0]
    assert (first.tags, first.reverse_tags) == (("<2de>",), ("<2en>",))
    assert recipe.data.valid["en-de"].tags == ("<2de>",)
    load_recipe(tree_with(model={**model, "directions": same, "embeddings": "language"}))


def test_a_resolved_recipe_loads_again() -> None:
    recipe = load_recipe(TREE).recipe
    model = recipe.model
    assert isinstance(model, ModularModel)
    assert (model.encoder_layers, model.decoder_layers) == (2, 1)
    assert load_recipe(recipe.model_dump(mode="json", exclude_none=True)).recipe == recipe


def test_a_direction_is_a_plain_recipe_of_its_own_corpora() -> None:
    recipe = load_recipe(TREE).recipe
    plain = plain_recipe(recipe, "de-en")
    (corpus,) = plain.data.train
    assert (corpus.source, corpus.target) == ("a.de", "a.en")
    assert plain.model.kind == "encoder_decoder"
    assert plain.data.valid == {}
    again = load_recipe(plain.model_dump(mode="json", exclude_none=True)).recipe
    assert again.model == plain.model
    assert of_direction(recipe.data, "en-ru") == ()


def test_untrained_directions_are_composed_of_trained_ones() -> None:
    recipe = load_recipe(TREE).recipe
    model = recipe.model
    assert isinstance(model, ModularModel)
    route, plain, _ = named_route(recipe, "de-pt")
    assert route == Route("de", "pt", model.route("de-en").encoder, model.route("en-pt").decoder)
    assert len(plain.data.train) == 2
    assert named_route(recipe, "de:pt")[0] == named_route(recipe, "de-en/en-pt")[0] == route
    assert named_route(recipe, "pt:en")[0] == model.route("pt-en")
    for wrong in ("", "de-fr", "de-en/xx", "xx"):
        with pytest.raises(InputError):
            named_route(recipe, wrong)


def test_a_language_that_is_written_in_two_ways_asks_for_one_of_them() -> None:
    changed = {
        "model/decoder_components": {"de": 1, "en": 1, "pt": 1, "en2": 1},
        "model/directions/pt-en/decoder": ["en2"],
    }
    recipe = load_recipe(tree_with(**changed)).recipe
    with pytest.raises(InputError, match="DIRECTION/de-en"):
        named_route(recipe, "en-en")


def test_the_reverse_of_a_direction_exchanges_its_halves() -> None:
    assert reversed_name("en-de") == "de-en"
    assert reversed_name("a-b-c") == "a-b-c"


def test_other_models_have_no_clip_by_component(tmp_path: Path) -> None:
    plain = {"model": {"preset": "tiny"}, "step": {"clip": {"kind": "component"}}}
    data = {"train": [{"source": "a", "target": "b"}]}
    with pytest.raises(InputError, match="components belong to a modular model"):
        load_recipe({**TREE, **plain, "data": data})

"""Directions as plain recipes, and untrained ones composed of trained ones."""

import pytest

from tests.config.test_modular_model import TREE, tree_with
from trimtab.config.load import load_recipe
from trimtab.config.modular_data import of_direction
from trimtab.config.modular_model import ModularModel, Route
from trimtab.config.modular_routes import named_route, plain_recipe
from trimtab.errors import InputError


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


def test_language_specific_layers_of_an_untrained_direction_are_those_of_its_languages() -> None:
    names = ("en-de", "de-en", "en-pt", "pt-en")
    changed = {
        "model/encoder_components": {"shared": 4},
        "model/decoder_components": {"shared": 3},
        "model/language_layers": {
            "encoder": {"source": 1, "target": 2},
            "decoder": {"source": 1, "target": 1},
        },
        **{
            f"model/directions/{name}/{side}": ["shared"] for name in names for side in ("encoder", "decoder")
        },
    }
    recipe = load_recipe(tree_with(**changed)).recipe
    route, _, _ = named_route(recipe, "de-pt")
    assert [each.component for each in route.encoder] == ["shared_from_de", "shared", "shared_to_pt"]
    assert [each.component for each in route.decoder] == ["shared_from_de", "shared", "shared_to_pt"]
    literal, _, _ = named_route(recipe, "de-en/en-pt")
    assert literal.encoder[-1].component == "shared_to_en"


def test_a_language_that_is_written_in_two_ways_asks_for_one_of_them() -> None:
    changed = {
        "model/decoder_components": {"de": 1, "en": 1, "pt": 1, "en2": 1},
        "model/directions/pt-en/decoder": ["en2"],
    }
    recipe = load_recipe(tree_with(**changed)).recipe
    with pytest.raises(InputError, match="DIRECTION/de-en"):
        named_route(recipe, "en-en")

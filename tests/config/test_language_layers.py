"""Language-specific layers as components."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trimtab.config.modular_model import ModularModel

TREE: dict[str, Any] = {
    "kind": "modular",
    "dim": 16,
    "heads": 2,
    "feed_forward": 32,
    "encoder_components": {"shared": 4},
    "decoder_components": {"shared": 3},
    "directions": {
        "en-de": {"encoder": ["shared"], "decoder": ["shared"]},
        "de-en": {"encoder": ["shared.0-2"], "decoder": ["shared"]},
    },
}


def model_with(**changes: Any) -> ModularModel:
    return ModularModel.model_validate({**TREE, **changes})


def test_layers_of_languages_take_the_places_of_shared_ones() -> None:
    layers = {"encoder": {"source": 1, "target": [2]}, "decoder": {"target": 1}}
    model = model_with(language_layers=layers)
    assert model.encoder_components == {
        "shared": 2,
        "shared_from_en": 1,
        "shared_to_de": 1,
        "shared_from_de": 1,
        "shared_to_en": 1,
    }
    assert model.directions["en-de"].encoder == ("shared_from_en.0", "shared.0", "shared_to_de.0", "shared.1")
    assert model.directions["de-en"].encoder == ("shared_from_de.0", "shared.0", "shared_to_en.0")
    assert model.directions["de-en"].decoder == ("shared.0-1", "shared_to_en.0")
    assert (model.encoder_layers, model.decoder_layers) == (4, 3)
    assert model.language_layers is None  # the resolved recipe has the components alone


@given(st.integers(0, 4), st.integers(0, 4))
def test_a_sentence_runs_through_as_many_layers_whatever_is_shared(source: int, target: int) -> None:
    layers = {"encoder": {"source": source, "target": target}}
    directions = {"en-de": TREE["directions"]["en-de"]}
    if source + target > 4:
        with pytest.raises(ValidationError, match="divide among them"):
            model_with(language_layers=layers, directions=directions)
        return
    model = model_with(language_layers=layers, directions=directions)
    assert sum(len(part.numbers) for part in model.layers("en-de", "encoder")) == 4
    assert sum(model.encoder_components.values()) == 4
    again = ModularModel.model_validate(model.model_dump())
    assert again == model


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ({"encoder": {"source": [4]}}, "divide among them"),
        ({"encoder": {"source": [1], "target": [1]}}, "divide among them"),
        ({"encoder": {"source": -1, "target": [-1]}}, "greater than or equal to 0"),
        ({"decoder": {"component": "romance", "target": 1}}, "no component 'romance'"),
        ({"encoder": {"source": True}}, "language_layers"),
        ({"encoder": {"source": 10**12}}, "divide among them"),
        ({"encoder": {"target": 10**12}}, "divide among them"),
        ({"encoder": {"sauce": 1}}, "sauce"),
        ("all", "language_layers"),
    ],
)
def test_layers_that_a_component_does_not_have_are_refused(layers: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        model_with(language_layers=layers)


def test_a_component_may_not_have_their_name() -> None:
    with pytest.raises(ValidationError, match="has the name of language-specific layers"):
        model_with(
            encoder_components={"shared": 4, "shared_to_de": 1},
            directions={"en-de": {"encoder": ["shared", "shared_to_de"], "decoder": ["shared"]}},
            language_layers={"encoder": {"target": 1}},
        )

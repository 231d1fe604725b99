"""Settings of a modular model: what is refused, with the fix, and what corpora have from their directions."""

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.for_each import for_each
from tests.modular_run import MODEL
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.config.modular_model import ModularModel
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


@for_each(
    ("changes", "words"),
    [
        (
            {"model/directions/en-ru": {"encoder": ["shared"], "decoder": ["de"]}},
            "en-ru: no corpus has this direction",
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
        ({"model/directions/en-de/encoder": ["shared.0-99999999999999999999"]}, "layers 0 to 0"),
        ({"model/encoder_components/de": 10**9}, "1 to 1000 layers"),
        ({"model/encoder_components": {"shared": 900, "de": 900}}, "the encoder of de-en is too deep"),
        ({"model/directions/en-de/encoder": ["shared", "shared.0"]}, "layer 0 of shared twice"),
        ({"model/directions/en-de/target": "ger"}, "name one language differently"),
        ({"model/directions/en-de/target": "DE"}, "name one language differently"),
        ({"model/encoder_layers": 5}, "remove it, and write the layers"),
        ({"model/directions/x": {"encoder": ["shared"], "decoder": ["de"]}}, "does not say its languages"),
        (
            {"model/directions/zh-Hans-en": {"encoder": ["shared"], "decoder": ["en"]}},
            "source: zh-Hans, target: en",
        ),
        ({"model/directions/en-de/encoder": ["shared." + "9" * 5000]}, "fix     write `shared`"),
        *(
            ({f"model/directions/{name}": {"encoder": ["shared"], "decoder": ["de"], **languages}}, words)
            for name, languages, words in (
                ("en#x", {"source": "en", "target": "de"}, "cannot be called 'en#x'"),
                ("en:x", {"source": "en", "target": "de"}, "cannot be called 'en:x'"),
                ("x", {"source": "e.n", "target": "de"}, "cannot be called 'e.n'"),
                ("x", {"source": "en", "target": "d e"}, "cannot be called 'd e'"),
                ("日本-de", {}, "cannot be called '日本-de'"),
            )
        ),
        ({"data/train/1/target": "a.de"}, "is in two languages"),
        ({"data/source_tokenizer": {"kind": "sentencepiece"}}, "not supported with modular models"),
        ({"step": {"gradients": "released"}}, "kept"),
        ({"parallel": {"kind": "fsdp"}}, "data_parallel"),
        ({"adapter": {"kind": "lora"}}, "adapter"),
        ({"model/directions/en-pt/decoder": ["de"]}, "no direction uses the component pt"),
        ({"model": {"kind": "encoder_decoder", "preset": "tiny"}}, "directions belong to a modular model"),
        ({"data/train/0/reverse_direction": "pt-en"}, "no corpus has this direction"),
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


def test_a_resolved_recipe_loads_again() -> None:
    recipe = load_recipe(TREE).recipe
    model = recipe.model
    assert isinstance(model, ModularModel)
    assert (model.encoder_layers, model.decoder_layers) == (2, 1)
    assert load_recipe(recipe.model_dump(mode="json", exclude_none=True)).recipe == recipe


def test_the_recipe_of_the_guide_loads_and_so_does_that_of_the_repository() -> None:
    root = Path(__file__).parent.parent.parent
    page = (root / "docs" / "how_to" / "many_languages.md").read_text(encoding="utf-8")
    written = parse_recipe(page.split("```yaml\n")[1].split("```")[0]).recipe.model
    stored = load_recipe(root / "recipes" / "multilingual_modular.yaml").recipe.model
    assert isinstance(written, ModularModel)
    assert isinstance(stored, ModularModel)
    assert (written.encoder_layers, written.decoder_layers) == (4, 3)
    assert (stored.encoder_layers, stored.decoder_layers) == (6, 4)

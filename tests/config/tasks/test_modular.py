"""What contradicts a modular model, or has only a meaning with one."""

from pathlib import Path

import pytest

from tests.config.test_modular_model import TREE, problem_of, tree_with
from tests.modular_run import DIRECTIONS, MODEL
from trimtab.config.load import load_recipe
from trimtab.errors import InputError


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


def test_other_models_have_no_clip_by_component(tmp_path: Path) -> None:
    plain = {"model": {"preset": "tiny"}, "step": {"clip": {"kind": "component"}}}
    data = {"train": [{"source": "a", "target": "b"}]}
    with pytest.raises(InputError, match="components belong to a modular model"):
        load_recipe({**TREE, **plain, "data": data})


def test_a_direction_is_exported_and_not_the_model() -> None:
    message = problem_of(export=["hf"])
    assert "one direction of it can be exported" in message
    assert "`trimtab export RUN#" in message


def test_components_are_not_clipped_separately_while_some_weights_wait() -> None:
    message = problem_of(
        **{
            "step": {"clip": {"kind": "component"}},
            "freeze": [{"weights": ["encoder.*"], "until": "200 steps"}],
            "model/warm_start": "runs/old",
        }
    )
    assert "cannot be clipped separately while some of their weights are not trained yet" in message


def test_layer_decay_is_refused_and_its_fix_loads() -> None:
    rates = "step/optimizer/learning_rate_multipliers"
    message = problem_of(**{rates: {"layer_decay": 0.9}})
    assert "a layer that several directions share may have another depth in each" in message
    assert '`learning_rate_multipliers: {names: {"encoder.*": 0.5}}`' in message
    load_recipe(tree_with(**{rates: {"names": {"encoder.*": 0.5}}}))

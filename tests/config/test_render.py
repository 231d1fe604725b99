from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tests.strategies import TRICKY, recipe_trees, words
from trimtab.config.consistency import contradictions
from trimtab.config.load import parse_recipe
from trimtab.config.read_yaml import read_yaml
from trimtab.config.render import render_recipe
from trimtab.config.run import Recipe
from trimtab.config.task_facts import init_recipe


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(recipe_trees())
def test_a_rendered_recipe_reads_back_as_the_same_recipe_and_the_same_text(tree: dict[str, Any]):
    recipe = Recipe.model_validate(tree)
    assume(not contradictions(recipe))
    text = render_recipe(recipe)
    again = parse_recipe(text).recipe
    assert again == recipe
    assert render_recipe(again) == text


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(words())
def test_any_text_survives_as_a_path(text: str):
    assert _with(source=text).data.train[0].source == text


def test_a_text_in_one_language_is_written_once_and_read_back_on_both_sides():
    tree = _recipe().model_dump()
    texts = {"task": "language_model", "model": {"kind": "decoder", "preset": "tiny"}}
    data = {"train": [{"text": "a.txt"}], "valid": {"text": "b.txt"}, "max_tokens": 64}
    recipe = Recipe.model_validate({"length": tree["length"], **texts, "data": data})
    text = render_recipe(recipe)
    assert (text.count("a.txt"), text.count("b.txt")) == (1, 1)
    assert parse_recipe(text).recipe == recipe
    assert parse_recipe(text).recipe.data.train[0].source == "a.txt"


@pytest.mark.slow
def test_texts_that_yaml_would_read_as_something_else_survive():
    for text in TRICKY:
        assert _with(source=text).data.train[0].source == text, text


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.floats(min_value=1e-300, max_value=10))
@example(5e-4)
@example(1e-8)
@example(0.1)
@example(1.0)
def test_any_float_survives_to_the_last_bit(rate: float):
    recipe = _recipe().model_dump()
    recipe["step"]["optimizer"]["learning_rate"] = rate
    text = render_recipe(Recipe.model_validate(recipe))
    assert read_yaml(text, name="").value["step"]["optimizer"]["learning_rate"] == rate


def test_the_text_is_in_the_order_of_the_settings_and_reads_like_a_recipe():
    lines = render_recipe(_recipe()).splitlines()
    groups = [line.split(":")[0] for line in lines if not line.startswith(" ")]
    assert groups == [
        "task",
        "data",
        "model",
        "loss",
        "step",
        "parallel",
        "guard",
        "length",
        "evaluate",
        "checkpoint",
        "seed",
    ]
    assert "    learning_rate: 7.0e-4" in lines
    assert "    betas: [0.9, 0.98]" in lines
    assert "    warmup: 500 steps" in lines
    assert "    - source: train.en" in lines


def test_words_that_older_yaml_takes_for_truth_values_are_quoted():
    recipe = _with(source="no")
    assert 'source: "no"' in render_recipe(recipe)


def _recipe() -> Recipe:
    return parse_recipe(init_recipe()).recipe


def _with(*, source: str) -> Recipe:
    tree = _recipe().model_dump()
    tree["data"]["train"] = [{"source": source, "target": "b"}]
    return parse_recipe(render_recipe(Recipe.model_validate(tree))).recipe

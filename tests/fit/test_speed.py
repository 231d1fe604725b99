from pathlib import Path

import pytest

from tests.fit.planning import pairs_recipe, text_recipe
from trimtab.fit.gpus import find_gpu
from trimtab.fit.plan import plan_recipe
from trimtab.fit.speed import operations, speed_of


def speed(recipe, name="h200"):
    gpu = find_gpu(name)
    return speed_of(plan_recipe(recipe, Path(), gpu), gpu).tokens_per_second


def test_operations_are_six_for_each_weight_of_a_product_and_token():
    plan = plan_recipe(text_recipe(data__max_tokens=8), Path(), find_gpu("h200"))
    matrices = plan.run.shape.count(["matrix"]) + plan.run.shape.rows * plan.run.shape.dim
    assert operations(plan) == pytest.approx(6 * matrices * plan.run.slots.target, rel=0.01)


def test_faster_cards_and_smaller_models_are_faster():
    assert speed(text_recipe()) > speed(text_recipe(), "a100") > speed(text_recipe(), "t4")
    assert (
        speed(text_recipe(model__preset="tiny"))
        > speed(text_recipe())
        > speed(text_recipe(model__preset="base"))
    )
    assert speed(text_recipe(step__compile="on")) > speed(text_recipe(step__compile="off"))
    assert speed(pairs_recipe()) > speed(pairs_recipe(model__preset="big"))

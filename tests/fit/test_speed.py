import json
from pathlib import Path

import pytest
from benchmarks.memory_ladder import CASES

from tests.fit.planning import pairs_recipe, text_recipe
from trimtab.config.load import load_recipe
from trimtab.fit.gpus import find_gpu
from trimtab.fit.native import shape_of
from trimtab.fit.plan import plan_recipe, plan_shape
from trimtab.fit.speed import operations, speed_of
from trimtab.fit.vocabulary import Vocabulary


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


def test_what_is_done_again_takes_longer():
    one = {"step__precision": "bf16", "step__tokens_per_step": 4096, "step__tokens_per_micro_batch": 4096}
    one |= {"step__optimizer": {"kind": "adamw", "states": "8bit"}, "step__compile": "off"}
    released = one | {"step__gradients": "released"}
    assert speed(text_recipe(**one)) > speed(text_recipe(**one, step__recompute="block"))
    assert speed(text_recipe(**one)) > speed(text_recipe(**released))
    off = released | {"step__clip": {"kind": "off"}}
    assert speed(text_recipe(**off)) > speed(text_recipe(**released))


RESULTS = Path(__file__).parents[2] / "benchmarks/memory_ladder.json"
MEASURED = [each for each in json.loads(RESULTS.read_text())["cases"] if "tokens_per_second" in each]


@pytest.mark.parametrize("result", MEASURED, ids=lambda each: each["case"])
def test_runs_with_released_gradients_are_planned_within_a_seventh(result, tmp_path):
    _, tree = CASES[result["case"]]
    rows = tree["data"]["tokenizer"]["vocabulary_size"]
    (tmp_path / "case.yaml").write_text(json.dumps(tree))
    recipe = load_recipe(tmp_path / "case.yaml").recipe
    gpu = find_gpu("h200")
    plan = plan_shape(recipe, Path(), gpu, shape_of(recipe.model, Vocabulary(rows, rows), max_tokens=1024))
    assert plan.run.shape.parameters == result["parameters"]
    assert speed_of(plan, gpu).tokens_per_second == pytest.approx(result["tokens_per_second"], rel=0.14)
    assert plan.driver / 2**30 == pytest.approx(result["driver_gib"], rel=0.12)
    assert plan.driver / 2**30 > result["driver_gib"]

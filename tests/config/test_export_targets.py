from pathlib import Path
from typing import get_args

import pytest

from tests.language_run import language_recipe
from tests.small_run import small_recipe
from trimtab.config.context import ContextTransform
from trimtab.config.export_targets import ExportTarget, facts_of, obstacles
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.config.render import render_recipe
from trimtab.config.transforms import NormalizeTransform
from trimtab.errors import InputError

TRANSLATORS = [each for each in get_args(ExportTarget) if facts_of(each).takes("encoder_decoder")]


def keys(folder, target, **changes):
    recipe = load_recipe(small_recipe(folder, **changes)).recipe
    found = obstacles(target, model=recipe.model, transforms=recipe.data.transforms)
    assert all((each.got and each.allowed and target in each.fix) or "data." in each.what for each in found)
    return [each.what.partition(":")[0] for each in found]


@pytest.mark.parametrize("target", TRANSLATORS)
def test_the_default_model_can_be_exported_for_anything(tmp_path, target):
    assert keys(tmp_path, target) == []


def test_hugging_face_has_no_class_for_rms_gates_and_turned_positions(tmp_path):
    modern = {"model.norm": "rms", "model.activation": "swiglu", "model.positions": "rotary"}
    assert keys(tmp_path, "hf", **modern) == ["model.norm", "model.activation", "model.positions"]
    assert keys(tmp_path, "ctranslate2", **modern) == []


@pytest.mark.parametrize("target", TRANSLATORS)
def test_other_sentences_before_a_line_stand_in_every_way_and_what_trimtab_does_to_lines_in_none(
    tmp_path, target
):
    transforms = [{"kind": kind} for kind in ("length", "normalize", "protect")]
    assert keys(tmp_path, target, **{"data.transforms": transforms}) == []
    model = load_recipe(small_recipe(tmp_path)).recipe.model
    (problem,) = obstacles(target, model=model, transforms=(NormalizeTransform(), ContextTransform()))
    assert problem.what.startswith("data.transforms.1: puts other sentences before each line")


def test_a_recipe_says_what_its_model_is_meant_for_and_keeps_saying_it(tmp_path):
    recipe = load_recipe(small_recipe(tmp_path, export=["ctranslate2", "hf"])).recipe
    assert recipe.export == ("ctranslate2", "hf")
    again = parse_recipe(render_recipe(recipe), path=Path("again.yaml")).recipe
    assert again.export == recipe.export
    assert "export" not in render_recipe(load_recipe(small_recipe(tmp_path)).recipe)


@pytest.mark.parametrize("target", ["ctranslate2", "onnx"])
def test_a_language_model_is_sent_to_hf(tmp_path, target):
    recipe = load_recipe(language_recipe(tmp_path)).recipe
    (problem,) = obstacles(target, model=recipe.model, transforms=recipe.data.transforms)
    assert (problem.what.partition(":")[0], problem.got) == ("model.kind", "decoder")
    assert "`--to hf`" in problem.fix
    assert "another `model.kind`" not in problem.fix
    assert obstacles("hf", model=recipe.model, transforms=recipe.data.transforms) == []


@pytest.mark.parametrize("targets", [["hf", "hf"], ["onnx", "hf", "onnx"]])
def test_a_target_that_stands_there_twice_is_refused(tmp_path, targets):
    with pytest.raises(InputError, match=f"export: {targets[-1]} is listed more than once") as caught:
        load_recipe(small_recipe(tmp_path, export=targets))
    assert caught.value.problems[0].fix == f"write [{', '.join(dict.fromkeys(targets))}]"


def test_an_unknown_target_is_wrong_input(tmp_path):
    with pytest.raises(InputError, match="export"):
        load_recipe(small_recipe(tmp_path, export=["tensorrt"]))

import pytest

from tests.image_run import image_recipe
from tests.pretrained_folder import pretrained_folder
from tests.pretrained_run import pretrained_recipe
from tests.small_run import small_recipe
from trimtab.config.load import load_recipe
from trimtab.errors import InputError

FSDP = {"parallel": {"kind": "fsdp"}}


@pytest.mark.parametrize("kind", ["adamw", "lion", "sgd", "ademamix"])
def test_optimizers_that_move_each_number_by_itself_can_be_divided(tmp_path, kind):
    recipe = small_recipe(tmp_path, **FSDP, **{"step.optimizer": {"kind": kind, "learning_rate": 1e-3}})
    assert load_recipe(recipe).recipe.parallel.kind == "fsdp"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("step.optimizer", {"kind": "adafactor", "learning_rate": 1e-3}),
        ("step.optimizer", {"kind": "stable_adamw", "learning_rate": 1e-3}),
        ("step.clip", {"kind": "adaptive"}),
        ("step.weight_clip", 2),
        ("step.precision", "bf16"),
    ],
)
def test_what_needs_whole_tensors_is_refused_with_a_way_out(tmp_path, key, value):
    recipe = small_recipe(tmp_path, **FSDP, **{key: value})
    with pytest.raises(InputError) as refused:
        load_recipe(recipe)
    (problem,) = refused.value.problems
    assert problem.what.startswith(key)
    assert problem.fix
    load_recipe(small_recipe(tmp_path, **{key: value}))


def test_frozen_weights_of_an_adapter_are_divided_but_for_those_in_4_bits(tmp_path):
    pretrained_folder(tmp_path / "base")
    load_recipe(pretrained_recipe(tmp_path, adapter={"rank": 4}, **FSDP))
    with pytest.raises(InputError, match="cannot shard matrices that are packed in 4 bits"):
        load_recipe(pretrained_recipe(tmp_path, adapter={"rank": 4, "quantize_base": "nf4"}, **FSDP))


def test_a_recognizer_is_not_divided(tmp_path):
    with pytest.raises(InputError, match="fsdp cannot shard models that read images"):
        load_recipe(image_recipe(tmp_path, **FSDP))

import pytest

from tests.diffusion_run import CLASSIFIES, diffusion_recipe
from trimtab.config.load import load_recipe
from trimtab.errors import InputError


def test_the_defaults_are_those_of_the_task_and_what_contradicts_it_is_named(tmp_path):
    path = diffusion_recipe(tmp_path, **CLASSIFIES)
    recipe = load_recipe(path).recipe
    assert recipe.data.images.fit == "crop"
    assert recipe.data.images.augment is None
    assert recipe.evaluate.best.metric == "accuracy"
    with pytest.raises(InputError) as error:
        load_recipe(path, ["model.patch=32", "export=[onnx]"])
    for key in ("model.patch: ", "export: "):
        assert key in str(error.value)
    load_recipe(path, ["model.patch=16"])


def test_augmentation_may_shift_images(tmp_path):
    path = diffusion_recipe(tmp_path, **CLASSIFIES, **{"data.images.augment": {"shift": 0.1}})
    assert load_recipe(path).recipe.data.images.augment.shift == 0.1

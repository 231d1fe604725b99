import pytest

from tests.image_run import image_recipe
from trimtab.errors import InputError


def test_a_recipe_names_what_contradicts_the_task(tmp_path):
    from trimtab.config.load import load_recipe

    wrong = {
        "data.tokenizer": {"kind": "bytes"},
        "loss": {"label_smoothing": 0.1},
        "model.patch": [32, 4],
        "step.cuda_graph": "on",
        "export": ["onnx"],
        "data.transforms": [{"kind": "normalize"}],
    }
    with pytest.raises(InputError) as error:
        load_recipe(image_recipe(tmp_path, **wrong))
    for key in (
        "data.tokenizer",
        "loss.label_smoothing",
        "model.patch",
        "step.cuda_graph",
        "export",
        "data.transforms.0",
    ):
        assert f"{key}: " in str(error.value)
    with pytest.raises(InputError, match="reads no images"):
        load_recipe(
            image_recipe(tmp_path, task="translation", model={"kind": "encoder_decoder", "preset": "tiny"})
        )


def test_images_and_charset_cannot_be_null(tmp_path):
    from trimtab.config.load import load_recipe

    for key in ("data.images", "data.charset"):
        with pytest.raises(InputError, match="recognition cannot do without it"):
            load_recipe(image_recipe(tmp_path), [f"{key}=null"])


@pytest.mark.parametrize("value", ["on", "auto"])
def test_steps_over_images_are_never_recorded(tmp_path, value):
    from trimtab.config.load import load_recipe

    with pytest.raises(InputError, match=f"{value}, with task recognition"):
        load_recipe(image_recipe(tmp_path), [f"step.cuda_graph={value}"])

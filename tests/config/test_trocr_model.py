import pytest

from tests.image_run import image_recipe
from tests.trocr_folder import OF_FOLDER, trocr_folder
from trimtab.errors import InputError
from trimtab.launch import train


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"data.images": {"size": 64}}, "data.images.size"),
        ({"data.images": {"fit": "height"}}, "data.images.fit"),
        ({"data.images": {"channels": "grey"}}, "data.images.channels"),
        ({"data.images": {"max_width": 64}}, "data.images.max_width"),
        ({"data.charset": {"file": "characters.txt"}}, "data.charset.file"),
        ({"data.tokenizer": {"kind": "sentencepiece", "vocabulary_size": 300}}, "data.tokenizer"),
        ({"data.max_tokens": 64}, "data.max_tokens"),
        ({"model.resample": "lanczos"}, "model.resample"),
        ({"model.positions": "sinusoidal"}, "model.positions"),
        ({"model.trained_layers": 1}, "model.trained_layers"),
    ],
)
def test_what_the_model_has_decided_is_refused_by_name(tmp_path, changes, named):
    trocr_folder(tmp_path / "trocr")
    recipe = image_recipe(tmp_path, **{**OF_FOLDER, **changes})
    with pytest.raises(InputError, match=named):
        train(recipe, out=tmp_path / "run")


def test_a_native_model_does_not_stretch(tmp_path):
    with pytest.raises(InputError, match=r"data\.images\.fit"):
        train(image_recipe(tmp_path, **{"data.images": {"fit": "stretch"}}), out=tmp_path / "run")

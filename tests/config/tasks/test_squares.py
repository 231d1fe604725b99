import pytest

from tests.diffusion_run import CLASSIFIES, diffusion_recipe
from trimtab.config.load import load_recipe
from trimtab.errors import InputError


def test_texts_and_images_of_any_width_are_refused_with_the_name_of_the_task(tmp_path):
    wrong = {
        "data.tokenizer": {"kind": "bytes"},
        "data.transforms": [{"kind": "normalize"}],
        "data.images.fit": "height",
    }
    with pytest.raises(InputError) as error:
        load_recipe(diffusion_recipe(tmp_path, **CLASSIFIES, **wrong))
    for words in (
        "data.tokenizer: ",
        "data.transforms.0: ",
        "data.images.fit: ",
        "task image_classification",
    ):
        assert words in str(error.value)


def test_a_corpus_of_texts_is_refused(tmp_path):
    path = diffusion_recipe(tmp_path, **{**CLASSIFIES, "data.train": [{"text": "a.txt"}]})
    with pytest.raises(InputError, match=r"data.train.0: no images"):
        load_recipe(path)

import pytest

from tests.diffusion_run import diffusion_recipe
from trimtab.config.load import load_recipe
from trimtab.errors import InputError


def test_a_recipe_names_what_contradicts_the_task(tmp_path):
    wrong = {
        "data.tokenizer": {"kind": "bytes"},
        "data.transforms": [{"kind": "normalize"}],
        "data.images.augment": {},
        "data.images.fit": "height",
        "model.patch": 5,
        "model.class_dropout": 0.0,
        "loss": {"label_smoothing": 0.1, "z_loss": 0.1},
        "export": ["onnx"],
    }
    with pytest.raises(InputError) as error:
        load_recipe(diffusion_recipe(tmp_path, **wrong))
    for key in (
        *("data.tokenizer", "data.transforms.0", "data.images.augment", "data.images.fit", "model.patch"),
        *("model.sampling.guidance", "loss.label_smoothing", "loss.z_loss", "export"),
    ):
        assert f"{key}: " in str(error.value)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("data.images=null", "diffusion cannot do without it"),
        ("evaluate.metrics=[bleu]", "a metric of translations"),
        ("model.kind=vision", "diffusion_transformer"),
    ],
)
def test_what_it_cannot_do_is_refused(tmp_path, override, words):
    recipe = diffusion_recipe(tmp_path)
    with pytest.raises(InputError) as error:
        load_recipe(recipe, [override])
    assert words in str(error.value)


def test_the_offered_fixes_load(tmp_path):
    recipe = diffusion_recipe(tmp_path)
    assert load_recipe(recipe, ["step.ema=null"]).recipe.evaluate.weights == "raw"
    load_recipe(recipe, ["model.class_dropout=0", "model.sampling.guidance=1"])


def test_corpora_of_text_are_refused_and_the_defaults_are_those_of_the_task(tmp_path):
    recipe = diffusion_recipe(tmp_path, **{"data.train": [{"text": "a.txt"}]})
    with pytest.raises(InputError, match=r"data.train.0: no images"):
        load_recipe(recipe)
    loaded = load_recipe(recipe, ["data.train.0={images: train}"]).recipe
    assert loaded.evaluate.weights == "ema"
    assert loaded.step.ema is not None
    assert loaded.data.images.fit == "crop"
    assert loaded.data.images.augment is None

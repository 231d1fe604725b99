import json

import pytest

from tests.image_run import image_recipe
from tests.trocr_folder import OF_FOLDER, trocr_folder
from trimtab.errors import InputError
from trimtab.launch import train


def without(folder, name):
    (folder / name).unlink()


def changed(folder, part, **values):
    tree = json.loads((folder / "config.json").read_text())
    (tree[part] if part else tree).update(values)
    (folder / "config.json").write_text(json.dumps(tree))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: without(folder, "preprocessor_config.json"), "how images are prepared"),
        (lambda folder: without(folder, "tokenizer.json"), "tokenizer"),
        (lambda folder: without(folder, "model.safetensors"), "safetensors"),
        (lambda folder: changed(folder, "decoder", model_type="gpt2"), "this decoder"),
        (lambda folder: changed(folder, "encoder", model_type="swin"), "this encoder"),
        (lambda folder: changed(folder, "encoder", image_size=40), "of this size"),
        (lambda folder: changed(folder, "decoder", vocab_size=8), "more ids than the model has rows"),
        (lambda folder: changed(folder, "", quantization_config={"bits": 4}), "quantized"),
        (lambda folder: trocr_folder(folder, size={"shortest_edge": 32}), "size"),
        (lambda folder: trocr_folder(folder, do_normalize=False), "do_normalize"),
        (lambda folder: trocr_folder(folder, resample=9), "resample"),
        (lambda folder: trocr_folder(folder, image_std=[0.5, 0, 0.5]), "image_std"),
        (lambda folder: trocr_folder(folder, image_processor_type="DeiTImageProcessor"), "do_center_crop"),
    ],
)
def test_a_wrong_folder_is_refused(tmp_path, spoil, said):
    folder = trocr_folder(tmp_path / "trocr")
    spoil(folder)
    with pytest.raises(InputError, match=said):
        train(image_recipe(tmp_path, **OF_FOLDER), out=tmp_path / "run")


def test_a_model_for_another_task_is_refused(tmp_path):
    trocr_folder(tmp_path / "trocr")
    recipe = image_recipe(tmp_path, **OF_FOLDER)
    tree = {**json.loads(recipe.read_text()), "task": "translation"}
    recipe.write_text(json.dumps(tree))
    with pytest.raises(InputError, match="task: recognition"):
        train(recipe, out=tmp_path / "run")

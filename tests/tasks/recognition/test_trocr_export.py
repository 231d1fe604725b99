import pytest
from PIL import Image
from safetensors.torch import load_file
from transformers import AutoImageProcessor

from tests.image_run import image_recipe
from tests.tasks.recognition.test_trocr import oracle, texts_of
from tests.trocr_folder import OF_FOLDER, trocr_folder
from tests.unchecked import model_unchecked
from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.launch import train
from trimtab.tasks.recognition.recognizer import load_recognizer


@pytest.fixture(scope="module")
def trocr_run(own_cache, tmp_path_factory):
    """The folder of a run that begins with `trocr-base` in small."""
    folder = tmp_path_factory.mktemp("trocr_run")
    trocr_folder(folder / "trocr")
    with model_unchecked():
        train(image_recipe(folder, **OF_FOLDER, length="3 steps"), out=folder / "run")
    return folder / "run"


def test_a_run_reads_images_and_its_export_reads_the_same(trocr_run, tmp_path):
    images = [str(trocr_run.parent / "dev" / f"{number}.png") for number in range(4)]
    found = [each.text for each in load_recognizer(trocr_run).recognize(images)]
    assert [each.text for each in load_recognizer(trocr_run, beam=2).recognize(images)]
    exported = export_model(trocr_run, to="hf", out=tmp_path / "out")
    assert exported.gate.passed
    network, processor = oracle(tmp_path / "out"), AutoImageProcessor.from_pretrained(tmp_path / "out")
    values = processor([Image.open(each).convert("RGB") for each in images], return_tensors="pt").pixel_values
    assert texts_of(tmp_path / "out", network.generate(values)) == found
    weights = load_file(trocr_run / "checkpoints" / "step-00000003" / "model.safetensors")
    assert weights["network.decoder.model.decoder.embed_tokens.weight"].equal(
        network.decoder.model.decoder.embed_tokens.weight
    )


def test_only_a_folder_of_transformers_is_written(trocr_run, tmp_path):
    with pytest.raises(InputError, match="--to hf"):
        export_model(trocr_run, to="onnx", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()

import json

import numpy as np
import pytest

from trimtab.errors import InputError, RunFailed, input_error
from trimtab.exporting import export_model
from trimtab.tasks.recognition import export
from trimtab.tasks.recognition.recognizer import load_recognizer


def test_an_export_is_proven_with_both_heads_on_real_images_and_noise_of_other_sizes(image_run, exported):
    out, report = exported
    assert report.gate.passed
    assert report.gate.images == 24
    assert report.gate.sizes > 4
    assert report.gate.heads == ("attention", "ctc")
    assert json.loads((out / "gate.json").read_text())["worst_log_probability"] <= 1e-4
    recognizer = load_recognizer(image_run, device="cpu")
    draw = np.random.default_rng(1)
    noise = [draw.integers(0, 256, (*size, 1), np.uint8) for size in ((2, 2), (41, 300), (9, 97), (200, 7))]
    gate = export.compare(recognizer, noise, out)
    assert gate.passed
    assert gate.sizes == 4


def test_images_of_noise_stand_in_for_those_that_are_gone(image_run, monkeypatch):
    def gone(*args, **kwargs):
        raise input_error("gone")

    monkeypatch.setattr(export, "open_images", gone)
    found = [each.shape for each in export.images_of(load_recognizer(image_run, device="cpu"))]
    assert found == [(*size, 1) for size in export.NOISE]


def test_nothing_is_written_where_the_graph_differs(image_run, tmp_path, monkeypatch):
    followed = export.by_trainer
    monkeypatch.setattr(export, "IMAGES", 1)
    monkeypatch.setattr(
        export,
        "by_trainer",
        lambda *args, **kwargs: followed(*args, **kwargs)._replace(scores=np.zeros((1, 1))),
    )
    with pytest.raises(RunFailed, match="differs from the trainer"):
        export_model(image_run, to="onnx", out=tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["hf", "ctranslate2", "torch_export", "peft"])
def test_other_targets_are_refused(image_run, tmp_path, to):
    with pytest.raises(InputError, match="is a recognizer"):
        export_model(image_run, to=to, out=tmp_path / "out")


def test_lines_of_text_and_rounded_weights_are_refused(image_run, tmp_path):
    with pytest.raises(InputError, match="float32"):
        export_model(image_run, to="onnx", out=tmp_path / "out", quantized="int8")
    with pytest.raises(InputError, match="own sets"):
        export_model(
            image_run, to="onnx", out=tmp_path / "out", source=tmp_path / "a", reference=tmp_path / "b"
        )

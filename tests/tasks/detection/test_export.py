import json

import numpy as np
import pytest
from PIL import Image

from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.tasks.detection.detector import load_detector
from trimtab.tasks.detection.export import farthest, onnxruntime_session
from trimtab.tasks.detection.letterbox import Letterbox


@pytest.mark.slow
def test_the_graph_finds_what_the_detector_finds_on_canvases_that_it_was_not_traced_on(box_run, tmp_path):
    report = export_model(box_run, to="onnx", out=tmp_path / "out")
    assert report.gate.passed
    assert report.gate.worst_side < 1e-4
    told = json.loads((tmp_path / "out" / "detector.json").read_text())
    assert told["categories"] == ["red", "blue"]
    detector, session = (
        load_detector(box_run, device="cpu"),
        onnxruntime_session(tmp_path / "out" / "model.onnx"),
    )
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (60, 150, 3), np.uint8))
    canvas = detector.canvas.model_copy(update={"fit": "native", "size": 96})
    letterbox = Letterbox.of(*image.size, canvas)
    pixels = letterbox.place(image).transpose(2, 0, 1)[None]
    scores, boxes = session.run(None, {"pixels": np.ascontiguousarray(pixels)})
    wide = type(detector)(detector.recipe, detector.checkpoint, detector.model, detector.categories, canvas,
                          detector.settings.model_copy(update={"nms": "none"}), detector.softmax)  # fmt: skip
    found = wide.predict([image])[0]
    best = np.sort(scores.reshape(-1))[::-1][: len(found.scores)]
    assert found.scores == pytest.approx(best, abs=1e-4)
    place = np.unravel_index(scores.argmax(), scores.shape)
    expected = letterbox.inside(letterbox.from_canvas(boxes[0, place[1]][None].astype(float)))[0]
    assert found.boxes[0] == pytest.approx(expected, abs=0.05)


@pytest.mark.quick("hf")
@pytest.mark.parametrize("to", ["hf", "ctranslate2"])
def test_other_targets_are_refused(box_run, tmp_path, to):
    with pytest.raises(InputError, match="is a detector"):
        export_model(box_run, to=to, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_queries_are_compared_whatever_their_order():
    draw = np.random.default_rng(1)
    found = draw.random((20, 6))
    moved = draw.permutation(found)
    assert farthest(found, moved).tolist() == [0, 0]
    moved[3, 1] += 0.02
    moved[7, 5] += 0.04
    assert farthest(found, moved) == pytest.approx([0.02, 0.04])
    assert farthest(moved, found) == pytest.approx([0.02, 0.04])
    lost = np.where(np.arange(20)[:, None] == found[:, :2].max(1).argmax(), 0, found)
    assert farthest(found, lost).max() > 0.01


def test_what_scores_next_to_nothing_is_compared_where_there_is_nothing_else():
    found = np.concatenate([np.full((20, 1), 1e-3), np.random.default_rng(1).random((20, 4))], axis=1)
    other = found.copy()
    other[:, 4] += 0.5
    assert farthest(found, other)[1] > 0.01
    found[:5, 0] = other[:5, 0] = 0.9  # these are looked at, with five others
    assert farthest(found, other)[1] > 0.01

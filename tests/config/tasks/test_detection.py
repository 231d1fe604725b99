import json

import pytest

from tests.box_run import box_recipe
from trimtab.config.load import load_recipe
from trimtab.errors import InputError


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"data.train": [{"source": "a", "target": "b"}]}, "data.train.0"),
        ({"data.train": [{"images": "a"}]}, "data.train.0"),
        ({"data.tokenizer": {"kind": "sentencepiece"}}, "data.tokenizer"),
        ({"data.images": {}}, "data.images"),
        ({"data.canvas": None, "loss": {"boxes": {}}, "data.canvas.size": 65}, "size"),
        ({"data.transforms": [{"kind": "length", "unit": "words", "min": 1, "max": 9}]}, "data.transforms.0"),
        ({"loss": {"label_smoothing": 0.1}}, "loss.label_smoothing"),
        ({"loss": {"boxes": {"classification": "softmax"}}}, "loss.boxes.classification"),
        ({"step.precision": "bf16"}, "step.precision"),
        ({"step.cuda_graph": "on"}, "step.cuda_graph"),
        ({"step.recompute": "block"}, "step.recompute"),
        ({"export": ["onnx"]}, "export"),
        ({"evaluate.metrics": ["bleu"]}, "evaluate.metrics.0"),
        ({"model.queries": 85}, "model.queries"),
        ({"model.heads": 3}, "heads"),
        ({"model.decoder_layers": 1}, "model.decoder_layers"),
        ({"model.path": "a", "model.warm_start": "b"}, "warm_start"),
        ({"parallel": {"kind": "fsdp"}}, "parallel.kind"),
        ({"data.train": [{"boxes": "a.json", "images": "b"}]}, "data.train.0"),
        ({"data.train": [{"image_folder": "a", "source": "b", "target": "c"}]}, "data.train.0"),
    ],
)
def test_what_a_detector_cannot_use_is_refused_where_it_is_written(tmp_path, changes, path):
    with pytest.raises(InputError) as error:
        load_recipe(box_recipe(tmp_path, **changes))
    assert path in str(error.value)


@pytest.mark.parametrize("key", ["data.canvas", "loss.boxes"])
def test_boxes_in_the_recipe_of_another_task_are_refused(tmp_path, key):
    tree = {
        "task": "translation",
        "data": {"train": [{"source": "a", "target": "b"}]},
        "model": {"preset": "tiny"},
        "loss": {},
        "length": "10 steps",
    }
    group, name = key.split(".")
    tree[group][name] = {}
    (tmp_path / "recipe.yaml").write_text(json.dumps(tree))
    with pytest.raises(InputError, match="only a detector predicts boxes"):
        load_recipe(tmp_path / "recipe.yaml")


def test_defaults_are_those_of_detection(tmp_path):
    recipe = load_recipe(box_recipe(tmp_path, **{"step.tokens_per_step": None})).recipe
    assert recipe.step.tokens_per_step == 16
    assert recipe.step.clip.at == 0.1
    assert recipe.loss.boxes.iou == "ciou"
    assert recipe.evaluate.best.metric == "ap"

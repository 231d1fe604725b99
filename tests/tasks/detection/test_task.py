import json

import pytest

from tests.box_run import box_recipe
from tests.short_run import model_sha
from trimtab.checkpoint.journal import read_journal
from trimtab.errors import InputError
from trimtab.launch import train
from trimtab.report.run_data import open_run
from trimtab.report.samples import pictures_of
from trimtab.tasks.detection.task import DETECTION
from trimtab.tasks.task import Batching, ComputesLoss, Datasets


def test_what_it_gives_a_run_is_what_every_run_asks_for(parts):
    assert parts.task is DETECTION
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)
    assert parts.stepper.statistics is not None


def test_no_check_finds_anything(box_run):
    assert json.loads((box_run.parent / "found.json").read_text()) == []


def test_a_run_writes_metrics_of_boxes_and_samples(box_run):
    last = [*read_journal(box_run / "evaluations.jsonl")][-1]
    assert {"ap", "ap50", "ap75", "ap_nms", "predictions_per_object"} <= last.keys()
    assert last["images"] == 4
    steps = [*read_journal(box_run / "metrics.jsonl")]
    assert all(each["skipped"] == 0 for each in steps)
    assert pictures_of(open_run(box_run)).shown, "images with boxes, for the report"


@pytest.mark.slow
def test_a_run_that_resumes_ends_with_the_same_bits(box_run, tmp_path):
    recipe, run = box_recipe(tmp_path), tmp_path / "run"
    train(recipe, out=run, overrides=["length=1 steps"])
    train(recipe, out=run, resume=True)
    assert model_sha(run, 2) == model_sha(box_run, 2)


def test_more_boxes_than_queries_are_refused_with_the_image(tmp_path, own_cache):
    recipe = box_recipe(tmp_path, **{"model.queries": 1})
    with pytest.raises(InputError) as error:
        train(recipe, out=tmp_path / "run")
    assert "more boxes than the model has queries" in str(error.value)
    assert "model.queries" in str(error.value)

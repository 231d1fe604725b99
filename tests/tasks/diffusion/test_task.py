from dataclasses import replace

import numpy as np
import pytest

from tests.diffusion_run import diffusion_recipe, with_model
from tests.image_run import sources_of
from tests.short_run import model_sha
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.launch import train
from trimtab.replaying.replay import replay
from trimtab.tasks.diffusion.generator import load_image_generator
from trimtab.tasks.diffusion.task import DIFFUSION
from trimtab.tasks.diffusion.validation import in_bands
from trimtab.tasks.task import Batching, ComputesLoss, Datasets
from trimtab.training.preflight import preflight


def test_what_it_gives_a_run_is_what_every_run_asks_for(parts):
    assert parts.task is DIFFUSION
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)


@pytest.mark.quick("v")
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"prediction": "epsilon", "weighting": "min_snr"},
        {"prediction": "v", "weighting": "min_snr", "positions": "learned", "norm": "rms"},
        {"prediction": "x0", "positions": "factorised", "activation": "swiglu"},
        {"dropout": 0.1, "qk_norm": False, "times": "logit_normal"},
    ],
    ids=["flow", "epsilon", "v", "x0", "dropout"],
)
def test_no_check_before_the_first_step_finds_anything(opened, changes):
    parts = build(*with_model(opened, **changes))
    assert [f"{each.code} {each.message}" for each in preflight(parts)] == []


def test_a_run_leaves_scores_by_noise_and_a_grid_of_samples(diffusion_run):
    evaluations = [*read_journal(diffusion_run / "evaluations.jsonl")]
    assert [line["step"] for line in evaluations] == [3, 6]
    bands = ["loss_0_25", "loss_25_50", "loss_50_75", "loss_75_100"]
    for line in evaluations:
        mean = sum(line[band] for band in bands) / 4
        assert line["loss"] == pytest.approx(mean, rel=0.2)
    from PIL import Image

    with Image.open(diffusion_run / "samples" / "step-00000006.png") as grid:
        assert grid.size == (2 * 18 + 2, 2 * 18 + 2)


@pytest.mark.slow
def test_a_run_that_resumes_and_a_replay_end_with_the_same_bits(diffusion_run, tmp_path):
    recipe, run = diffusion_recipe(tmp_path / "again"), tmp_path / "run"
    train(recipe, out=run, overrides=["length=4 steps"])
    train(recipe, out=run, resume=True)
    assert model_sha(run, 6) == model_sha(diffusion_run, 6)
    assert replay(diffusion_run, step=4).fault == "no_spike"
    for step in (3, 6):
        name = f"samples/step-{step:08}.png"
        assert (run / name).read_bytes() == (diffusion_run / name).read_bytes()


@pytest.mark.slow
def test_it_learns_what_the_images_of_a_class_look_like(tmp_path, own_cache):
    changes = {
        "model.dim": 64,
        "model.heads": 4,
        "model.layers": 2,
        "model.feed_forward": 256,
        "step.tokens_per_step": 24,
        "step.optimizer.learning_rate": 0.002,
        "length": "350 steps",
        "evaluate.every": "350 steps",
        "evaluate.samples": 0,
        "checkpoint.every": "350 steps",
    }
    run = train(diffusion_recipe(tmp_path, **changes), out=tmp_path / "run").run
    parts, model = build(*sources_of(tmp_path)), load_image_generator(run).model
    valid = parts.datasets.valid["valid"]
    rows, bands = np.tile(np.arange(valid.rows), 4), np.repeat(np.arange(4), valid.rows)

    def errors(classes):
        found = in_bands(parts, model, replace(valid, classes=classes), rows, bands)
        return np.array(found).reshape(4, -1).mean(1)

    # Of held-out images at the same noise: told their class, it errs less than told the other one, or none.
    right = errors(valid.classes)
    assert (right < errors(1 - valid.classes)).all()
    assert (right < errors(np.full_like(valid.classes, 2))).all()
    assert right.mean() < 0.3 * parts.task.untrained(parts.datasets).loss

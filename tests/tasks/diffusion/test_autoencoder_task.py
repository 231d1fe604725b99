import pytest
import torch
from PIL import Image

from tests.diffusion_run import AUTOENCODER, diffusion_recipe, diffusion_sources
from tests.short_run import model_sha
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.launch import train
from trimtab.step.accumulate import accumulate
from trimtab.tasks.diffusion.autoencoder import psnr
from trimtab.tasks.diffusion.autoencoder_task import AUTOENCODER as TASK
from trimtab.tasks.task import Batching, ComputesLoss, Datasets
from trimtab.tasks.task_of import task_of


@pytest.fixture(scope="session")
def parts(own_cache, tmp_path_factory):
    return build(*diffusion_sources(tmp_path_factory.mktemp("autoencoder"), model=AUTOENCODER))


def test_what_it_gives_a_run_is_what_every_run_asks_for(parts):
    assert task_of(parts.recipe) is TASK
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)


def test_a_run_leaves_decibels_and_pictures(autoencoder_run):
    (*_, last) = read_journal(autoencoder_run / "evaluations.jsonl")
    assert last["psnr"] == pytest.approx(psnr(last["loss"]), abs=0.01)
    with Image.open(autoencoder_run / "samples" / "step-00000006.png") as grid:
        assert grid.size == (2 * 18 + 2, 2 * 18 + 2)


def test_a_step_has_the_same_gradient_however_it_is_cut(parts):
    found = []
    for pieces in ([(0, 6)], [(0, 1), (1, 4), (4, 6)]):
        for weight in parts.model.parameters():
            weight.grad = None
        accumulate(parts.stepper.objective, [parts.examples.one_batch(*each) for each in pieces])
        found.append(torch.cat([weight.grad.flatten() for weight in parts.model.parameters()]))
    assert float((found[0] - found[1]).norm() / found[0].norm()) < 1e-5


@pytest.mark.slow
def test_a_run_that_resumes_ends_with_the_same_bits(autoencoder_run, tmp_path):
    recipe, run = diffusion_recipe(tmp_path, model=AUTOENCODER), tmp_path / "run"
    train(recipe, out=run, overrides=["length=3 steps"])
    train(recipe, out=run, resume=True)
    assert model_sha(run, 6) == model_sha(autoencoder_run, 6)


@pytest.mark.slow
def test_it_learns_to_give_images_back(tmp_path, own_cache):
    changes = {
        "model": {**AUTOENCODER, "dim": 16, "latent_channels": 4},
        "step.tokens_per_step": 24,
        "step.optimizer.learning_rate": 0.003,
        "length": "250 steps",
        "evaluate.every": "250 steps",
        "checkpoint.every": "250 steps",
    }
    run = train(diffusion_recipe(tmp_path, **changes), out=tmp_path / "run").run
    (*_, last) = read_journal(run / "evaluations.jsonl")
    assert last["psnr"] > 20

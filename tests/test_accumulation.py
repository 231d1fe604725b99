"""How a step is cut into micro-batches changes nothing; `benchmarks/accumulation.py` shows it on real text."""

from importlib.resources import as_file, files

import pytest
import torch

from tests.small_run import small_recipe
from trimtab.build import Parts, build
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.config.run import Recipe
from trimtab.progress import Silent
from trimtab.step.accumulate import accumulate
from trimtab.step.take_step import take_step
from trimtab.tasks.task_of import open_datasets
from trimtab.tasks.text.datasets import TextDatasets
from trimtab.types import TrainState

TOKENS = 1024
SHARES = (1, 4, 16)
UPDATES = 20
SAME_WEIGHTS, LATER = 1e-6, 5e-4
"""Relative differences that the order of additions in float32 may make, at once and after twenty updates."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recipe, TextDatasets]:
    folder = tmp_path_factory.mktemp("accumulation")
    changes = {"step.tokens_per_step": TOKENS, "step.tokens_per_micro_batch": TOKENS, "model.dropout": 0.0}
    recipe = resolve_paths(load_recipe(small_recipe(folder, **changes, **{"step.precision": "fp32"})))
    return recipe, open_datasets(recipe, tokenizer_folder=folder / "tokenizer", progress=Silent())


def cut_finer(recipe: Recipe, sources: TextDatasets, share: int) -> Parts:
    budget = recipe.step.tokens_per_step // share
    step = recipe.step.model_copy(update={"tokens_per_micro_batch": budget})
    parts = build(recipe.model_copy(update={"step": step}), sources, device=torch.device("cpu"))
    parts.model.train()
    return parts


def run(parts: Parts, updates: int) -> tuple[list[list[float]], list[int]]:
    """Loss and gradient norm of every step, the last one after so many updates; and how many packs each had."""
    state, numbers, packs_of = TrainState(), [], []
    for _, packs in parts.stream.batches(0):
        report = take_step(
            parts.stepper.objective,
            parts.stepper.optimizer,
            packs,
            clip=parts.stepper.clip,
            scale=parts.stepper.scale,
            learning_rate=parts.learning_rate.at(state),
        )
        numbers.append([float(report.loss), float(report.grad_norm)])
        packs_of.append(len(packs))
        state.step += 1
        if state.step > updates:
            break
    return numbers, packs_of


@pytest.mark.slow
def test_a_step_is_the_same_in_one_micro_batch_and_in_four_and_in_sixteen(data):
    runs = {share: run(cut_finer(*data, share), UPDATES) for share in SHARES}
    whole, packs_of = runs[1]
    assert packs_of == [1] * (UPDATES + 1)
    assert whole[-1][0] < 0.8 * whole[0][0], "twenty updates that change nothing would show nothing"
    for share in SHARES[1:]:
        cut, packs_of = runs[share]
        assert min(packs_of) >= share
        assert cut[0] == pytest.approx(whole[0], rel=SAME_WEIGHTS, abs=0)
        assert cut[-1] == pytest.approx(whole[-1], rel=LATER, abs=0)


def test_the_gradient_itself_is_the_same_for_every_cut(data):
    gradients = []
    for share in SHARES:
        parts = cut_finer(*data, share)
        _, packs = next(iter(parts.stream.batches(0)))
        accumulate(parts.stepper.objective, packs)
        gradients.append(torch.cat([p.grad.double().flatten() for p in parts.model.parameters()]))
    for cut in gradients[1:]:
        assert (cut - gradients[0]).norm() <= SAME_WEIGHTS * gradients[0].norm()


def test_a_mean_over_means_would_be_seen(data):
    # What a loop does that averages each micro-batch by itself: short ones weigh as much as long ones.
    parts = cut_finer(*data, 4)
    _, packs = next(iter(parts.stream.batches(0)))
    with torch.no_grad():
        sums = [(float(parts.stepper.objective(pack).loss), pack.num_targets) for pack in packs]
    exact = sum(loss for loss, _ in sums) / sum(count for _, count in sums)
    mean_of_means = sum(loss / count for loss, count in sums) / len(sums)
    assert abs(mean_of_means - exact) > 10 * SAME_WEIGHTS * exact


@pytest.mark.slow
def test_it_holds_on_real_text_with_a_real_vocabulary_and_the_tiny_preset(tmp_path):
    with as_file(files("trimtab.demo")) as demo:
        changes = ["step.tokens_per_step=4096", "length=1000 steps", f"data.root={demo / 'data'}"]
        recipe = resolve_paths(load_recipe(demo / "recipe.yaml", changes))
        sources = open_datasets(recipe, tokenizer_folder=tmp_path / "tokenizer", progress=Silent())
        runs = {share: run(cut_finer(recipe, sources, share), UPDATES) for share in SHARES}
    for share in SHARES[1:]:
        for step, bound in ((0, SAME_WEIGHTS), (-1, LATER)):
            assert runs[share][0][step] == pytest.approx(runs[1][0][step], rel=bound, abs=0)

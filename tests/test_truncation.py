"""Truncated labels in a whole run: from when on, how they are counted, and the same at every cut and after a stop."""

import pytest
import torch

from tests.small_run import small_recipe
from trimtab.build import build
from trimtab.checkpoint.journal import read_journal
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.launch import train
from trimtab.progress import Silent
from trimtab.step.accumulate import accumulate
from trimtab.step.take_step import take_step
from trimtab.tasks.task_of import open_datasets
from trimtab.types import TrainState

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

TRUNCATE = {"error_norm": 1.0, "after": "10 steps"}


def learned(parts, steps):
    """The parts after some steps, and the packs of the next one."""
    state = TrainState()
    for _, packs in parts.stream.batches(0):
        parts.stepper.begin(state)
        if state.step == steps:
            return packs
        take_step(
            parts.stepper.objective,
            parts.stepper.optimizer,
            packs,
            clip=parts.stepper.clip,
            scale=parts.stepper.scale,
            learning_rate=1e-2,
        )
        state.step += 1
    raise AssertionError("windows never end")


@pytest.mark.slow
def test_how_a_step_is_cut_changes_neither_what_is_truncated_nor_the_gradient(tmp_path):
    changes = {"step.tokens_per_step": 1024, "step.tokens_per_micro_batch": 1024, "model.dropout": 0.0}
    recipe = resolve_paths(load_recipe(small_recipe(tmp_path, **changes, **{"loss.truncate": TRUNCATE})))
    sources = open_datasets(recipe, tokenizer_folder=tmp_path / "tokenizer", progress=Silent())
    parts = build(recipe, sources, device=torch.device("cpu"))
    learned(parts, 12)
    weights = {name: tensor.clone() for name, tensor in parts.model.state_dict().items()}
    found = []
    for share in (1, 4, 16):
        step = recipe.step.model_copy(update={"tokens_per_micro_batch": 1024 // share})
        finer = build(recipe.model_copy(update={"step": step}), sources, device=torch.device("cpu"))
        finer.model.load_state_dict(weights)
        finer.stepper.begin(TrainState(step=12))
        packs = next(iter(finer.stream.batches(0)))[1]
        assert len(packs) >= share
        total = accumulate(finer.stepper.objective, packs)
        gradient = torch.cat([p.grad.double().flatten() for p in finer.model.parameters()])
        found.append((float(total.truncated), gradient))
    (count, whole), *cuts = found
    assert 0 < count < 1000
    for other, gradient in cuts:
        assert other == count
        assert (gradient - whole).norm() <= 1e-5 * whole.norm()


@pytest.mark.slow
def test_a_run_says_how_many_labels_it_left_out_and_goes_on_with_the_same_after_a_stop(tmp_path):
    changes = {"loss.truncate": TRUNCATE, "length": "24 steps", "evaluate.every": "12 steps"}
    changes |= {"checkpoint.every": "12 steps", "evaluate.metrics": ["chrf"]}
    changes |= {"step.schedule": {"kind": "constant"}}
    recipe = small_recipe(tmp_path, **changes)
    whole = list(read_journal(train(recipe, out=tmp_path / "whole").run / "metrics.jsonl"))
    counts = [line["truncated"] for line in whole]
    assert counts[:10] == [0] * 10
    assert min(counts[10:]) > 0
    train(recipe, out=tmp_path / "stopped", overrides=["length=12 steps"])
    resumed = train(recipe, out=tmp_path / "stopped", resume=True)
    again = list(read_journal(resumed.run / "metrics.jsonl"))
    for key in ("step", "truncated", "loss", "objective", "grad_norm"):
        assert [line[key] for line in again] == [line[key] for line in whole]


def test_without_it_metrics_say_nothing_of_it(tmp_path):
    recipe = small_recipe(tmp_path, length="2 steps", **{"step.schedule.warmup": "1 steps"})
    metrics = read_journal(train(recipe, out=tmp_path / "run").run / "metrics.jsonl")
    assert all("truncated" not in line for line in metrics)

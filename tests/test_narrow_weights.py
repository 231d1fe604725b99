"""Runs whose weights are bfloat16."""

import json

import pytest
import torch

from tests.small_run import small_parts, small_recipe
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.inference import load_translator
from trimtab.launch import train
from trimtab.step.optimizer.rounded_adamw import RoundedAdamW

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

NARROW = {
    "step.precision": "bf16",
    "step.schedule": {"kind": "constant"},
    "length": "8 steps",
    "step.tokens_per_step": 64,
    "step.tokens_per_micro_batch": 64,
    "model.dim": 16,
    "evaluate.metrics": ["loss"],
    "evaluate.best": {"metric": "loss"},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One in a piece, and one that was as long as its half at first."""
    folder = tmp_path_factory.mktemp("narrow")
    recipe = small_recipe(folder, **NARROW)
    whole = train(recipe, out=folder / "whole")
    train(recipe, overrides=["length=4 steps"], out=folder / "parts")
    parts = train(recipe, out=folder / "parts", resume=True)
    return whole, parts


def losses(run):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def test_weights_are_bfloat16_and_moments_float32(tmp_path):
    parts = small_parts(tmp_path, **NARROW)
    assert {weight.dtype for weight in parts.model.parameters()} == {torch.bfloat16}
    assert isinstance(parts.stepper.optimizer, RoundedAdamW)
    assert {each.dtype for each in parts.stepper.optimizer.state_tensors().values()} == {torch.float32}
    assert parts.recipe.step.precision == "bf16"


@pytest.mark.slow
def test_a_checkpoint_holds_the_narrow_weights_and_translates(runs):
    weights = resolve_checkpoint(f"{runs[0].run}@last").load_model()
    assert {each.dtype for each in weights.values()} == {torch.bfloat16}
    assert len(load_translator(f"{runs[0].run}@last").translate(["the small ship turns"])) == 1


def test_a_run_that_goes_on_ends_with_the_same_bits(runs):
    first, second = (resolve_checkpoint(f"{each.run}@last").load_model() for each in runs)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert losses(runs[0].run) == losses(runs[1].run)

"""Faults that only a GPU has, on steps that are recorded: a killed run, fp16, memory, a bit that flips."""

import math
from pathlib import Path

import pytest
import torch

from tests.faults.killing import STEPS, digest, end_in_turn, finish, logs, moments
from tests.small_run import small_recipe
from tests.training.small_line import small_line
from trimtab.errors import RunFailed
from trimtab.launch import train

pytestmark = pytest.mark.gpu
HALF = {"step.precision": "auto", "model.dropout": 0.2}
EVERY_FEW = {"length": f"{STEPS} steps", "evaluate.every": "40 steps", "checkpoint.every": "5 steps"}


def only_so_much_memory(more: int) -> None:
    """Bounds what this process may take of the card: so many bytes beside what it has."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + more) / total)


def test_a_deterministic_run_that_is_killed_three_times_has_the_bits_of_an_undisturbed_one(tmp_path: Path):
    recipe = small_recipe(tmp_path, **HALF | EVERY_FEW | {"step.deterministic": True})
    finish(recipe, tmp_path / "first", resume=False)
    finish(recipe, tmp_path / "second", resume=False)
    assert digest(tmp_path / "second") == digest(tmp_path / "first")
    assert logs(tmp_path / "second") == logs(tmp_path / "first")
    end_in_turn(recipe, tmp_path / "killed", moments(3, seed=1))
    finish(recipe, tmp_path / "killed", resume=True)
    assert digest(tmp_path / "killed") == digest(tmp_path / "first")
    assert logs(tmp_path / "killed") == logs(tmp_path / "first")


def test_a_loss_scale_that_is_too_large_for_fp16_goes_down_and_moves_no_weight_meanwhile(tmp_path: Path):
    line = small_line(tmp_path, **HALF | {"length": "40 steps", "step.precision": "fp16_mixed"})
    line.parts.stepper.scale.factor.fill_(2.0**40)
    seen = []
    line.told.watch = lambda step: seen.append(line.weights())
    line.train()
    metrics = line.log("metrics")
    overflown = [each["step"] for each in metrics if each.get("refused") == "overflow"]
    assert overflown == list(range(1, len(overflown) + 1))
    assert 5 <= len(overflown) < 35
    assert metrics[-1]["loss"] < metrics[0]["loss"]
    assert float(line.parts.stepper.scale.factor) == 2.0 ** (40 - len(overflown))
    assert [each.code for each in line.told.findings if each.code.startswith("S")] == []


def test_memory_that_is_taken_by_others_in_the_middle_ends_the_run_with_advice(tmp_path: Path):
    line = small_line(tmp_path, **HALF | EVERY_FEW | {"step.cuda_graph": "off"})

    def take(step: int) -> None:
        if step == 20:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            only_so_much_memory(0)

    line.told.watch = take
    try:
        with pytest.raises(RunFailed, match="memory ran out after step 20"):
            line.train()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert line.recorder.store.latest().load_state().step == 20


def test_a_recipe_that_does_not_fit_on_the_card_is_refused_before_the_first_step(tmp_path: Path):
    recipe = small_recipe(
        tmp_path, **HALF | {"step.tokens_per_step": 65536, "step.tokens_per_micro_batch": 65536}
    )
    torch.cuda.empty_cache()
    only_so_much_memory(16 * 2**20)
    try:
        with pytest.raises(RunFailed, match="P201 longest-batch-does-not-fit"):
            train(recipe, out=tmp_path / "run")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert "tokens_per_micro_batch to 32768" in (tmp_path / "run" / "findings.jsonl").read_text()


def test_a_bit_that_flips_in_a_weight_on_the_card_sends_the_run_back(tmp_path: Path):
    changes = {"length": "160 steps", "evaluate.every": "500 steps", "checkpoint.every": "20 steps"}
    guard = {"active_from": 32, "window": 32, "healthy_after": 20}
    line = small_line(tmp_path, **HALF | changes | {"guard": guard})

    flips = [1 << 30]  # the largest bit of the exponent: 0.1 becomes 3e37

    def flip(step: int) -> None:
        if step == 100 and flips:
            weight = line.parts.model.decoder.blocks[0].feed_forward.down.weight
            weight.data.view(torch.int32)[3, 3] ^= flips.pop()

    line.told.watch = flip
    state = line.train()
    assert line.parts.stepper.graphs.recordings
    assert state.step == 160
    assert "S907" in [each["code"] for each in line.log("findings")]
    assert all(math.isfinite(float(each.sum())) for each in line.weights().values())
    assert line.log("metrics")[-1]["loss"] < line.log("metrics")[79]["loss"] * 1.2

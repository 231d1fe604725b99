"""Steps that grow, in a whole run: their size follows from their number, packs keep one shape, a stop changes none."""

import itertools

import pytest
import torch

from tests.small_run import small_parts, small_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

WARMUP = {"start": 64, "over": "8 steps"}
SIZES = {"step.tokens_per_step": 512, "step.tokens_per_micro_batch": 128, "step.batch_warmup": WARMUP}


def some(parts, count, *, position=0, step=0):
    return list(itertools.islice(parts.stream.batches(position, step=step), count))


def lines(window):
    return window.corpus.tolist(), window.line.tolist(), window.position


def test_each_window_is_as_large_as_its_number_says_in_as_many_packs_as_that_takes(tmp_path):
    parts = small_parts(tmp_path, **SIZES)
    for step, (window, packs) in enumerate(some(parts, 10)):
        room = min(512, 64 + 56 * step)
        assert room - 32 < window.num_targets <= room
        assert len(packs) == -(-room // 128)
        assert parts.batching.tokens_at(step) == room


def test_packs_of_fixed_shapes_have_the_same_one_in_every_step(tmp_path):
    parts = small_parts(tmp_path, **SIZES)
    whole = parts.batching.shape_at(100)
    assert whole == parts.batching.shape
    assert {replaced.target_slots for replaced in map(parts.batching.shape_at, range(10))} == {
        whole.target_slots
    }


def test_a_stream_that_goes_on_at_a_step_has_the_windows_it_would_have_had(tmp_path):
    parts = small_parts(tmp_path, **SIZES)
    whole = [lines(window) for window, _ in some(parts, 10)]
    for step in (1, 4, 9):
        position = whole[step - 1][-1]
        again = some(parts, 10 - step, position=position, step=step)
        assert [lines(window) for window, _ in again] == whole[step:]


def test_a_change_of_the_mixture_does_not_disturb_them(tmp_path):
    stages = [{"until": "3 steps", "weights": {"plain": 1}}, {"weights": {"plain": 2}}]
    parts = small_parts(tmp_path, **SIZES, **{"data.stages": stages, "data.train.0.name": "plain"})
    sizes = [window.num_targets for window, _ in some(parts, 6)]
    assert all(room - 32 < size <= room for size, room in zip(sizes, range(64, 400, 56), strict=False))


def test_a_resumed_run_takes_the_same_steps(tmp_path):
    torch.manual_seed(0)
    changes = {**SIZES, "length": "10 steps", "data.valid": None}
    changes |= {"checkpoint.every": "4 steps", "step.schedule": {"kind": "constant"}}
    recipe = small_recipe(tmp_path, **changes)
    whole = list(read_journal(train(recipe, out=tmp_path / "whole").run / "metrics.jsonl"))
    train(recipe, out=tmp_path / "stopped", overrides=["length=5 steps"])
    resumed = train(recipe, out=tmp_path / "stopped", resume=True)
    again = list(read_journal(resumed.run / "metrics.jsonl"))
    for key in ("step", "target_tokens", "micro_batches", "loss", "grad_norm"):
        assert [line[key] for line in again] == [line[key] for line in whole]

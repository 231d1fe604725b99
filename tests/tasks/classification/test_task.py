import shutil
import time
from pathlib import Path

import pytest
import torch

from tests.children import Command
from tests.label_run import label_recipe
from tests.short_run import model_sha
from trimtab.checkpoint.journal import read_journal
from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.inspection import inspect_recipe
from trimtab.launch import smoke, train
from trimtab.replaying.replay import replay
from trimtab.tasks.classification.task import CLASSIFICATION
from trimtab.tasks.task import Batching, ComputesLoss, Datasets


def test_what_it_gives_a_run_is_what_every_run_asks_for(parts):
    assert parts.task is CLASSIFICATION
    assert isinstance(parts.datasets, Datasets)
    assert isinstance(parts.batching, Batching)
    assert isinstance(parts.stepper.loss, ComputesLoss)


def test_a_run_that_was_killed_resumes_to_the_same_bits(label_run, tmp_path):
    recipe, run = label_recipe(tmp_path), tmp_path / "run"
    process = Command("train", recipe, "--out", run)
    try:
        while not (run / "checkpoints" / "step-00000010").exists() and process.poll() is None:
            time.sleep(0.02)
    finally:
        process.kill()
    result = train(recipe, out=run, resume=True)
    assert result.state.step == 40
    assert model_sha(run, 40) == model_sha(label_run, 40)
    kept = ("step", "loss", "grad_norm")
    lines = [[{key: each[key] for key in kept} for each in read_journal(path / "metrics.jsonl")]
             for path in (run, label_run)]  # fmt: skip
    assert lines[0] == lines[1]


@pytest.mark.parametrize("name", ["labels.json", "tokenizer.json"])
def test_a_replay_makes_nothing_that_a_run_has_lost(label_run, tmp_path, name):
    run = Path(shutil.copytree(label_run, tmp_path / "run"))
    (run / "tokenizer" / name).unlink()
    before = sorted(run.rglob("*"))
    with pytest.raises(InputError):
        replay(run, step=3)
    assert sorted(run.rglob("*")) == before


@pytest.mark.slow
def test_spoilt_steps_are_refused_and_their_lines_written_down(parts, tmp_path, monkeypatch):
    recipe = label_recipe(tmp_path, length="20 steps")
    forward = type(parts.model).encode
    calls = []

    def spoilt(self, stream):
        calls.append(1)
        x = forward(self, stream)
        return x * torch.nan if self.training and len(calls) > 60 and len(calls) < 63 else x

    monkeypatch.setattr(type(parts.model), "encode", spoilt)
    result = train(recipe, out=tmp_path / "run")
    assert result.state.skips >= 1
    (line, *_) = read_journal(tmp_path / "run" / "quarantine.jsonl")
    assert line["target"] in ("garden", "kitchen", "sea")
    assert line["place"].endswith(f"train.tsv:{line['line']}")


@pytest.mark.slow
def test_smoke_overfits_one_batch(tmp_path):
    assert smoke(label_recipe(tmp_path)) < 0.6


def test_an_inspection_is_refused_by_what_the_examples_are(tmp_path):
    with pytest.raises(InputError, match="texts with labels"):
        inspect_recipe(load_recipe(label_recipe(tmp_path)))

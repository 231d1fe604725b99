import json
import subprocess

import pytest
import torch

from tests.small_run import small_recipe
from trimtab import probing
from trimtab.errors import InputError, RunFailed
from trimtab.probing import as_text, main, probe, probed

FOUND = {
    "recipe": "my.yaml",
    "gpu": "NVIDIA H200",
    "steps": 5,
    "planned": {"allocated": 10**9, "reserved": 2 * 10**9, "driver": 3 * 10**9},
    "measured": {"allocated": 10**9, "reserved": 10**9, "driver": 4 * 10**9},
    "out_of_memory": "",
    "changes": "",
}


def answering(monkeypatch, said, code=0):
    done = subprocess.CompletedProcess([], code, said, "")
    monkeypatch.setattr(probing.subprocess, "run", lambda *_, **__: done)


def test_planned_and_measured_stand_beside_each_other(monkeypatch, tmp_path):
    answering(monkeypatch, "warning\n" + probing.ANSWER + json.dumps(FOUND) + "\n")
    text = probe(tmp_path / "my.yaml", [])
    assert "+100.0%" in text
    assert "-25.0%" in text
    assert json.loads(probe(tmp_path / "my.yaml", [], as_json=True)) == FOUND


def test_memory_that_ran_out_is_told_with_what_may_fit():
    ran_out = {**FOUND, "measured": {}, "out_of_memory": "CUDA out of memory", "changes": "step.compile=on"}
    text = as_text(ran_out)
    assert "memory ran out: CUDA out of memory" in text
    assert "step.compile=on" in text


def test_a_probe_without_an_answer_is_a_failed_run(monkeypatch, tmp_path):
    answering(monkeypatch, "", code=1)
    with pytest.raises(RunFailed, match="exit code 1"):
        probe(tmp_path / "my.yaml", [])
    answering(monkeypatch, "", code=2)
    with pytest.raises(InputError, match="could not be probed"):
        probe(tmp_path / "my.yaml", [])


def test_a_machine_without_a_gpu_is_told(capsys, tmp_path):
    if torch.cuda.is_available():
        pytest.skip("for machines without a GPU")
    given = {"recipe": str(tmp_path / "my.yaml"), "overrides": [], "memory": None, "needs_gpu": True}
    assert main([json.dumps(given)]) == 2
    assert "--probe: needs a GPU" in capsys.readouterr().err


@pytest.mark.slow
def test_the_largest_steps_of_a_recipe_run(tmp_path):
    found = probed(small_recipe(tmp_path), ["step.tokens_per_step=256", "step.tokens_per_micro_batch=128"])
    assert found["out_of_memory"] == ""
    assert found["planned"]["driver"] > found["planned"]["reserved"] > found["planned"]["allocated"] > 0

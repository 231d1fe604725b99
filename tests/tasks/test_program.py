"""What is compiled when, counted: the checks of a compiled run ask for the program that trains and for no other."""

import json
import os
import subprocess
import sys

import pytest
import torch

from tests.training.preflight.compiled_runs import RUNS, WRONG
from trimtab.tasks.program import hidden, hidden_in_training

NAMED = {
    "looks at other tokens": ["M201", "M203"],
    "loses gradients": ["M205", "S204"],
}


@pytest.fixture(scope="module")
def told(own_cache, tmp_path_factory):
    command = [
        sys.executable,
        "-m",
        "tests.training.preflight.compiled_runs",
        str(tmp_path_factory.mktemp("compiled")),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_checks_and_steps_and_an_evaluation_compile_what_the_steps_do_alone(told, run):
    counted = told["runs"][run]
    assert counted["findings"] == []
    assert counted["checked"] == counted["alone"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_the_longest_batch_compiles_all_of_it_and_no_check_compiles_more(told, run):
    counted = told["runs"][run]
    assert {name: count for name, count in counted["by_check"].items() if count} == {
        "longest_batch": counted["alone"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_a_compiled_run_has_the_same_weights_with_checks_before_it(told, run):
    assert told["runs"][run]["same_weights"]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_what_a_compiler_does_wrong_is_named(told, wrong):
    assert told["wrong"][wrong] == NAMED[wrong]


@pytest.mark.slow
def test_plainly_nothing_is_compiled_and_afterwards_all_is_as_before(told):
    counted = told["stances"]
    assert counted["plainly"] == 0
    assert 0 < counted["as trained"] < counted["afterwards"]


def test_vectors_come_without_a_graph_in_float32(parts):
    pack = parts.examples.few()
    vectors = hidden(parts, pack)
    assert vectors.dtype == torch.float32
    assert not vectors.requires_grad
    assert vectors.shape == (len(pack.target.ids), parts.recipe.model.dim)


def test_vectors_of_training_follow_from_the_seed_and_leave_no_graph(parts):
    pack = parts.examples.few()
    parts.model.eval()
    plain = hidden(parts, pack)
    first, again = hidden_in_training(parts, pack, seed=3), hidden_in_training(parts, pack, seed=3)
    assert torch.equal(first, again)
    assert not torch.equal(first, hidden_in_training(parts, pack, seed=4))
    assert not first.requires_grad
    assert (first.shape, first.dtype) == (plain.shape, plain.dtype)

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.fit.test_modular_tasks import recipe
from trimtab.cli.app import app


@pytest.fixture
def path(tmp_path):
    recipe(tmp_path)
    return tmp_path / "recipe.yaml"


def called(*words, code=0):
    result = CliRunner().invoke(app, ["plan", "tasks", *map(str, words)])
    assert result.exit_code == code, result.output
    return result.output


def test_the_page_has_a_line_for_each_gpu_and_what_it_costs(path):
    said = called(path, "--gpus", 2)
    assert "recipe.yaml on 2 GPUs: 2 directions" in said
    assert "encoder.shared.0,1  2" in said
    for words in ("this placement", "data parallelism", "lower bound", "by_direction"):
        assert words in said


def test_what_it_prints_as_json_is_a_placement_that_it_reads(path, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text(called(path, "--gpus", 2, "--json"))
    told = json.loads(called(path, "--gpus", 2, "--placement", mine, "--json"))
    assert told["given"]["communicated_bytes"] == told["communicated_bytes"]
    assert told["lower_bound_bytes"] <= told["communicated_bytes"] <= told["data_parallel_bytes"]
    assert "the given placement" in called(path, "--gpus", 2, "--placement", mine)


@pytest.mark.parametrize("gpus", ["0", "-1", "many", "1.5", "999999"])
def test_a_number_of_gpus_that_is_none_is_refused(path, gpus):
    assert "--gpus" in called(path, "--gpus", gpus, code=2)


def test_a_step_that_is_too_small_and_an_unknown_plan_are_refused(path):
    result = CliRunner().invoke(app, ["plan", "taks", str(path), "--gpus", "2"])
    assert result.exit_code == 2


def test_it_loads_no_torch(path):
    code = (
        "import sys; from trimtab.cli.app import app\n"
        f"try: app(['plan', 'tasks', {str(path)!r}, '--gpus', '2'])\n"
        "except SystemExit as end: assert not end.code\n"
        "assert not {'torch', 'numpy'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

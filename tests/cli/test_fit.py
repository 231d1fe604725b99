import json
import subprocess
import sys

import pytest

from tests.children import Command
from tests.pretrained_folder import pretrained_folder

RECIPE = """
task: language_model
data: {train: [{text: train.txt}], valid: {text: valid.txt}, max_tokens: 512}
model: {kind: decoder, preset: small}
step: {tokens_per_step: 32768, tokens_per_micro_batch: 32768}
length: 500 steps
"""


def fit(*arguments):
    """As it is typed: exit code, stdout, stderr."""
    process = Command("fit", *arguments)
    told, said = process.communicate()
    assert "Traceback" not in said
    return process.returncode, told, said


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


def test_a_recipe_is_planned_and_a_proposal_fits(recipe):
    code, text, _ = fit(recipe, "--gpu", "h100")
    assert code == 0
    assert "fits" in text
    code, text, _ = fit(recipe, "--memory", "4GB", "--json")
    values = json.loads(text)
    assert (code, values["fits"]) == (1, False)
    changes = [f"{key}={value}" for key, value in values["changes"]["settings"].items()]
    assert fit(recipe, "--memory", "4GB", *changes)[0] == 0


def test_all_cards_and_what_to_solve_for(recipe, tmp_path):
    code, text, _ = fit(recipe, "--gpu", "all")
    assert code == 0
    assert "the smallest card of the table that it fits on" in text
    code, text, _ = fit(recipe, "--gpu", "t4", "--solve", "batch")
    assert code == 0
    assert "the largest that fits: step.tokens_per_micro_batch=" in text
    code, text, _ = fit(pretrained_folder(tmp_path / "model"), "--gpu", "t4")
    assert code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--gpu", "rtx-4900"], "did you mean rtx-4090"),
        (["--memory", "24"], "has no unit"),
        (["--gpu", "t4", "--ram", "lots"], "not an amount of memory"),
        (["--gpu", "t4", "--solve", "layers"], "batch, length, rank, dim"),
        (["--gpu", "t4", "--solve", "rank"], "no adapter"),
        (["--gpu", "t4", "--memory", "4GB"], "one of them"),
        (["--gpu", "t4", "model.preset=huge"], "huge"),
    ],
)
def test_wrong_input_is_told(recipe, arguments, said):
    code, _, told = fit(recipe, *arguments)
    assert code == 2
    assert said in told


@pytest.mark.slow
def test_nothing_heavy_is_imported(recipe):
    code = (
        "import sys; sys.argv = ['trimtab', 'fit', sys.argv[1], '--gpu', 't4']\n"
        "from trimtab.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(recipe)], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert {"torch", "numpy", "sentencepiece", "jaxtyping"}.isdisjoint(loaded)

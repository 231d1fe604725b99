"""From a run to a program that PyTorch alone runs."""

import json
import subprocess
import sys

import pytest

from tests.text_run import trained_text_run
from trimtab.config.export_targets import obstacles
from trimtab.config.load import load_recipe
from trimtab.errors import InputError, RunFailed
from trimtab.export.torch_export import target as module
from trimtab.export.torch_export.target import OpenedProgram, TorchExport
from trimtab.exporting import export_model
from trimtab.inference.generating import load_generator


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of a model that transformers has no class for."""
    place = tmp_path_factory.mktemp("program")
    kind = {
        "model.positions": "learned",
        "model.norm": "layer",
        "model.activation": "gelu",
        "length": "6 steps",
    }
    run = trained_text_run(place, **kind)
    return export_model(str(run), to="torch_export", out=place / "program").folder


@pytest.mark.slow
def test_a_model_that_no_class_of_transformers_computes_passes_the_gate(folder):
    proof = json.loads((folder / "trimtab" / "gate.json").read_text())
    assert proof["passed"]
    assert proof["worst_logit"] < 1e-4
    assert proof["texts"] > 50
    assert "A language model (torch.export) of" in (folder / "README.md").read_text()


@pytest.mark.slow
def test_the_code_of_the_card_runs(folder):
    code = (folder / "README.md").read_text().split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Once")


@pytest.mark.slow
def test_trimtab_itself_opens_no_program_since_that_would_unpickle_it(folder):
    with pytest.raises(InputError, match="PyTorch unpickles parts of them"):
        load_generator(str(folder), device="cpu")


@pytest.mark.slow
def test_a_program_that_differs_leaves_no_folder(text_run, tmp_path, monkeypatch):
    class Spoilt(OpenedProgram):
        def logits(self, rows):
            return [each + 0.01 for each in super().logits(rows)]

    monkeypatch.setattr(module, "OpenedProgram", Spoilt)
    with pytest.raises(RunFailed, match="differs from the trainer; nothing was written"):
        export_model(str(text_run), to="torch_export", out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_translators_and_prefixes_read_in_both_directions_are_refused_by_name(trained_run, text_run):
    translator = load_recipe(trained_run / "recipe.yaml").recipe
    (problem,) = obstacles("torch_export", model=translator.model, transforms=())
    assert (
        problem.what
        == "model.kind: an export for torch_export is of a language model, not of an encoder-decoder"
    )
    model = load_recipe(text_run / "recipe.yaml").recipe.model
    (problem,) = obstacles(
        "torch_export", model=model.model_copy(update={"prefix": "bidirectional"}), transforms=()
    )
    assert problem.what.startswith("model.prefix: ")
    assert TorchExport().files == ("model.pt2",)

import shutil

import pytest
import torch

from tests.pretrained_folder import pretrained_folder
from tests.pretrained_run import pretrained_recipe
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.config.load import load_recipe
from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


@pytest.fixture(scope="module")
def tuned(own_cache, tmp_path_factory):
    """The folder of a run of four steps that began from a pretrained model; copy it before you change it."""
    folder = tmp_path_factory.mktemp("tuned")
    pretrained_folder(folder / "base")
    return train(pretrained_recipe(folder), out=folder / "run").run


@pytest.mark.slow
def test_a_run_begins_from_the_weights_and_records_them(tuned):
    recipe = load_recipe(tuned / "recipe.yaml").recipe
    assert recipe.model.kind == "pretrained"
    assert len(recipe.model.sha256) == 64


@pytest.mark.slow
def test_a_run_that_resumes_ends_with_the_same_weights_and_needs_the_folder_no_more(tuned, tmp_path):
    shutil.copytree(tuned, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-00000004")
    pretrained_recipe(tmp_path, **{"data.train": [{"text": str(tuned.parent / "train.txt")}]})
    train(tmp_path / "text.yaml", out=tmp_path / "run", resume=True)
    one, other = (resolve_checkpoint(f"{run}@4").load_model() for run in (tuned, tmp_path / "run"))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
def test_the_run_exports_with_its_own_tokenizer_and_continues_texts(tuned, tmp_path):
    from trimtab.inference.generating import load_generator

    report = export_model(str(tuned), out=tmp_path / "out_hf")
    assert report.gate.passed
    own = (tuned.parent / "base" / "tokenizer.json").read_bytes()
    assert (report.folder / "tokenizer.json").read_bytes() == own
    texts = [next(iter(load_generator(str(each)).generate(["the"]))).text for each in (tuned, report.folder)]
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_stretched_positions_and_biases_of_queries_export_too(tmp_path):
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaling |= {"original_max_position_embeddings": 32}
    pretrained_folder(tmp_path / "base", model_type="qwen2", rope_scaling=scaling)
    run = train(pretrained_recipe(tmp_path), out=tmp_path / "run").run
    assert export_model(str(run), out=tmp_path / "out_hf").gate.passed


def test_other_weights_than_the_recipe_names_are_refused(tmp_path):
    pretrained_folder(tmp_path / "base")
    with pytest.raises(InputError, match=r"model\.sha256: .*base holds other weights"):
        train(pretrained_recipe(tmp_path, **{"model.sha256": "0" * 64}), out=tmp_path / "run")


@pytest.mark.slow
def test_weights_that_are_named_begin_untrained_and_all_others_trained(tuned, tmp_path):
    shutil.copytree(tuned.parent / "base", tmp_path / "base")
    changes = {"length": "1 steps", "step.optimizer.learning_rate": 1e-9, "evaluate.every": "1 steps"}
    changes["step.schedule"] = {"kind": "constant"}
    new = ["decoder.blocks.1.*"]
    runs = {
        name: train(pretrained_recipe(tmp_path, **changes, **more), out=tmp_path / name).run
        for name, more in {"plain": {}, "new": {"reinitialize": new}, "again": {"reinitialize": new}}.items()
    }
    plain, first, again = (resolve_checkpoint(f"{run}@1").load_model() for run in runs.values())
    far = {name for name in plain if not torch.allclose(plain[name], first[name], atol=1e-4)}
    assert far
    assert all(name.startswith("decoder.blocks.1.") for name in far)
    assert {name for name in plain if name.startswith("decoder.blocks.1.") and plain[name].ndim == 2} <= far
    assert all(torch.equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reinitialize": ["layers.*"]}, "reinitialize: no weight of the model has such a name"),
        ({"reinitialize": ["*"], "adapter": {"kind": "lora"}}, "checkpoints hold the adapter alone"),
        (
            {"reinitialize": ["*"], "model": {"kind": "decoder", "preset": "tiny"}},
            "no pretrained weights to reinitialize",
        ),
    ],
)
def test_what_cannot_begin_untrained_is_refused(tuned, tmp_path, changes, words):
    shutil.copytree(tuned.parent / "base", tmp_path / "base")
    with pytest.raises(InputError, match=words):
        train(pretrained_recipe(tmp_path, **changes), out=tmp_path / "run")

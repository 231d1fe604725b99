import shutil

import pytest
from safetensors.torch import load_file

from tests.short_run import SHORT, log
from tests.small_run import small_recipe
from trimtab.checkpoint.step_folders import list_steps, step_name
from trimtab.checkpoint.store import CheckpointStore
from trimtab.config.load import load_recipe
from trimtab.errors import DiskFull, InputError
from trimtab.launch import train
from trimtab.training.early_checks import check_exports

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def test_a_model_that_could_not_be_exported_as_the_recipe_says_is_not_trained(tmp_path):
    changes = {"export": ["ctranslate2", "hf"], "model.norm": "rms", "model.positions": "rotary"}
    recipe = small_recipe(tmp_path, **changes)
    with pytest.raises(InputError, match=r"model\.norm: no class of transformers") as caught:
        train(recipe, out=tmp_path / "run")
    assert len(caught.value.problems) == 2, "each is reported once"
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    check_exports(load_recipe(recipe, ["export=[ctranslate2]"]).recipe)


def test_a_tokenizer_that_is_named_is_not_removed_for_the_run_s_own(tmp_path, trained_run):
    run = tmp_path / "run"
    shutil.copytree(trained_run / "tokenizer", run / "tokenizer")
    (run / ".lock").touch()  # as after a try that ended early
    recipe = small_recipe(tmp_path, **SHORT, **{"data.tokenizer": {"path": str(run / "tokenizer")}})
    with pytest.raises(InputError, match=r"data\.tokenizer\.path: is inside the run's own tokenizer folder"):
        train(recipe, out=run)
    assert (run / "tokenizer" / "sentencepiece.model").is_file()


@pytest.mark.slow
def test_a_bleu_tokenizer_whose_library_is_missing_is_told_before_the_first_step(tmp_path, monkeypatch):
    def without_library(**_):
        raise RuntimeError("Japanese tokenization requires extra dependencies")

    monkeypatch.setattr("sacrebleu.metrics.bleu.BLEU", without_library)
    recipe = small_recipe(tmp_path, **SHORT, **{"data.valid.bleu_tokenizer": "ja-mecab"})
    with pytest.raises(InputError, match="ja-mecab needs a library"):
        train(recipe, out=tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    train(recipe, overrides=["evaluate.metrics=[chrf]", "evaluate.every=9 steps"], out=tmp_path / "other")


@pytest.mark.quick("{}")
@pytest.mark.parametrize("changes", [{}, {"step.precision": "bf16"}, {"step.ema": {}}], ids=str)
def test_room_is_asked_for_at_least_what_a_checkpoint_takes(tmp_path, monkeypatch, changes):
    asked = []
    monkeypatch.setattr(CheckpointStore, "check_disk_space", lambda store, size: asked.append(size))
    run = train(small_recipe(tmp_path, **SHORT | changes), out=tmp_path / "run").run
    saved = max(list_steps(run / "checkpoints"))
    files = (run / "checkpoints" / step_name(saved)).glob("*.safetensors")
    tensors = [tensor for file in files for tensor in load_file(file).values()]
    assert asked[0] >= sum(tensor.nbytes for tensor in tensors)


def test_a_disk_without_room_for_one_checkpoint_is_told_before_the_first_step(tmp_path, monkeypatch):
    free = shutil.disk_usage(tmp_path)._replace(free=10_000)
    monkeypatch.setattr("trimtab.checkpoint.disk_space.shutil.disk_usage", lambda _: free)
    with pytest.raises(DiskFull):
        train(small_recipe(tmp_path, **SHORT), out=tmp_path / "run")
    assert list(log(tmp_path / "run", "metrics")) == []

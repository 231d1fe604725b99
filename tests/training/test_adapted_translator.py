"""An adapter on a translator: it adapts the run that `model.warm_start` names."""

import shutil

import pytest
import torch

from tests.short_run import SHORT
from tests.small_run import small_recipe
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.decode.search import Search
from trimtab.errors import InputError
from trimtab.exporting import export_model
from trimtab.inference import load_model, load_translator
from trimtab.inference.together import load_adapted_translator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

LINES = ["the small ship turns", "never the wind pulls", "red boat"]
FAST = {**SHORT, "data.tokenizer": None, "step.optimizer": {"kind": "adamw", "learning_rate": 0.02}}


def recipe_on(base, folder, adapter, **more):
    model = {"kind": "encoder_decoder", "warm_start": str(base)}
    return small_recipe(folder, **{**FAST, "model": model, "adapter": adapter, **more})


@pytest.fixture(scope="module")
def adapted(trained_run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapted")
    more = {"length": "6 steps", "checkpoint": {"every": "3 steps"}}
    return train(recipe_on(trained_run, folder, {"rank": 4}, **more), out=folder / "run").run


def translated(run, adapter=None):
    if adapter is None:
        return [*load_translator(run, device="cpu").translate(LINES)]
    beside = load_adapted_translator([run], adapter=adapter, search=Search(beam=4), device="cpu")
    return [*beside.translate(LINES)]


@pytest.mark.slow
def test_it_saves_the_adapter_alone_and_translates_by_itself_and_beside_its_base(adapted, trained_run):
    assert all(".lora_" in name for name in resolve_checkpoint(str(adapted)).load_model())
    assert {".cross.q.lora_a" in name for name in resolve_checkpoint(str(adapted)).load_model()} == {
        True,
        False,
    }
    by_itself = translated(str(adapted))
    assert by_itself == translated(str(trained_run), adapter=str(adapted))
    base, both = load_model(str(trained_run), device="cpu"), load_model(str(adapted), device="cpu")
    beside = base.with_adapter(adapted)
    assert beside.model.embedding.weight is base.model.embedding.weight
    for block, other, plain in zip(beside.model.blocks, both.model.blocks, base.model.blocks, strict=True):
        x = torch.randn(3, base.model.dim)
        assert torch.equal(block.attention.out(x), other.attention.out(x))
        assert not torch.equal(block.attention.out(x), plain.attention.out(x))


@pytest.mark.slow
def test_an_adapter_goes_with_one_run(adapted, trained_run):
    with pytest.raises(InputError, match="belongs to one model"):
        load_adapted_translator([trained_run, trained_run], adapter=adapted, search=Search(beam=1))


@pytest.mark.slow
def test_a_merge_is_proven_by_transformers(adapted, tmp_path):
    few = tmp_path / "few.txt"
    few.write_text("\n".join(LINES))
    assert export_model(str(adapted), out=tmp_path / "merged", source=few, reference=few).gate.passed


@pytest.mark.slow
def test_a_resumed_run_ends_with_the_same_bits(adapted, tmp_path):
    shutil.copytree(adapted, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-00000006")
    train(adapted.parent / "recipe.yaml", out=tmp_path / "run", resume=True)
    one, other = (resolve_checkpoint(f"{run}@6").load_model() for run in (adapted, tmp_path / "run"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_base_that_has_changed_is_refused(adapted, trained_run, tmp_path):
    with pytest.raises(InputError, match="trained on other weights"):
        load_model(f"{trained_run}@20", device="cpu").with_adapter(adapted)


@pytest.mark.slow
def test_new_pieces_need_embeddings_that_are_trained(trained_run, tmp_path):
    """Hazard: rows of new tokens that nothing trains."""
    smaller = {"data.tokenizer": {"kind": "sentencepiece", "vocabulary_size": 290}}
    with pytest.raises(InputError, match="its rows would not be trained") as caught:
        train(
            recipe_on(trained_run, tmp_path / "frozen", {"rank": 4}, **smaller), out=tmp_path / "frozen_run"
        )
    assert "adapter.embeddings: train" in str(caught.value)
    trained = recipe_on(trained_run, tmp_path / "trained", {"rank": 4, "embeddings": "train"}, **smaller)
    run = train(trained, out=tmp_path / "run").run
    one, other = (
        resolve_checkpoint(f"{run}@{step}").load_model()["embedding.weight"] for step in ("last", "4")
    )
    assert torch.equal(one, other)
    assert len(translated(str(run))) == len(LINES)
    with pytest.raises(InputError, match="no adapter that goes with another model"):
        load_model(str(trained_run), device="cpu").with_adapter(run)

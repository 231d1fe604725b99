import os
import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

import trimtab
from tests.small_run import small_recipe
from trimtab.averaging import average, mean_of
from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.step_folders import list_steps, step_name
from trimtab.errors import InputError
from trimtab.launch import train
from trimtab.translator import load_model, load_translator


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with checkpoints at steps 10, 20, 30 and 40."""
    folder = tmp_path_factory.mktemp("averaged")
    changes = {
        "length": "40 steps",
        "checkpoint.every": "10 steps",
        "checkpoint.keep": 4,
        "evaluate.every": "40 steps",
    }
    train(small_recipe(folder, **changes), out=folder / "run")
    assert list_steps(folder / "run" / "checkpoints") == [10, 20, 30, 40]
    return folder / "run"


def weights(run, step):
    return load_file(run / "checkpoints" / step_name(step) / "model.safetensors")


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**31))
def test_the_mean_is_that_of_every_element_as_in_float64(count, seed):
    draw = torch.Generator().manual_seed(seed)
    models = [{"a": torch.randn(3, 4, generator=draw), "ids": torch.arange(3)} for _ in range(count)]
    mean = mean_of([lambda model=model: model for model in models])
    exact = torch.stack([model["a"].double() for model in models]).mean(0)
    assert torch.equal(mean["a"], exact.float())
    assert torch.equal(mean["ids"], torch.arange(3))


def test_the_folder_holds_the_mean_and_is_used_like_a_run(run, tmp_path):
    report = average([f"{run}@20", f"{run}@40"], out=tmp_path / "mean")
    mean = weights(tmp_path / "mean", 40)
    for name, one in weights(run, 20).items():
        torch.testing.assert_close(
            mean[name], (one.double() + weights(run, 40)[name]).div(2).float(), rtol=0, atol=0
        )
    assert report.members == (f"{run}@20", f"{run}@40")
    assert len(load_translator(str(tmp_path / "mean"), beam=2).translate(["a b", "c"])) == 2


def test_the_last_of_a_run_are_its_newest(run, tmp_path):
    report = average([str(run)], out=tmp_path / "mean", last=3)
    assert report.members == tuple(f"{run}@{step}" for step in (20, 30, 40))


def test_what_it_gained_is_the_loss_that_evaluation_finds(run, tmp_path):
    report = average([str(run)], out=tmp_path / "mean", last=2)
    losses = report.losses["valid"]
    assert list(losses) == [f"{run}@30", f"{run}@40", "average"]
    for spec, loss in losses.items():
        files = load_model(str(run)).recipe.data.valid["valid"]
        found = trimtab.evaluate(
            str(tmp_path / "mean") if spec == "average" else spec,
            source=files.source,
            reference=files.target,
            beam=1,
        )
        assert loss == pytest.approx(found.loss, rel=1e-6)
    assert "loss on valid:" in report.render()


def test_a_mean_of_one_checkpoint_with_itself_is_refused(run, tmp_path):
    with pytest.raises(InputError, match="at least two different"):
        average([f"{run}@40", f"{run}@last"], out=tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"model.feed_forward": 40}, "another model"), ({"seed": 2}, "another first weights")],
)
def test_what_cannot_be_averaged_is_named(run, tmp_path, changes, what):
    short = {"length": "4 steps", "step.schedule.warmup": "2 steps", "evaluate.every": "4 steps"}
    train(small_recipe(tmp_path / "other", **short, **changes), out=tmp_path / "run")
    with pytest.raises(InputError) as caught:
        average([f"{run}@40", f"{tmp_path / 'run'}@4"], out=tmp_path / "mean")
    assert caught.value.problems[0].what.endswith(what)
    assert not (tmp_path / "mean").exists()


def test_a_folder_that_holds_a_run_is_not_touched(run):
    before = weights(run, 40)
    with pytest.raises(InputError):
        average([f"{run}@20", f"{run}@40"], out=run)
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(run, 40).items())


def test_a_mean_cannot_be_resumed(run, tmp_path):
    average([f"{run}@20", f"{run}@40"], out=tmp_path / "mean")
    recipe = tmp_path / "mean" / "recipe.yaml"
    with pytest.raises(InputError, match="averaged is not what it was"):
        train(recipe, out=tmp_path / "mean", resume=True)


def test_sets_that_are_gone_are_said_and_the_mean_stays(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    recipe = (tmp_path / "run" / "recipe.yaml").read_text()
    files = load_model(str(run)).recipe.data.valid["valid"]
    (tmp_path / "run" / "recipe.yaml").write_text(recipe.replace(files.source, files.source + ".gone"))
    report = average([str(tmp_path / "run")], out=tmp_path / "mean", last=2)
    assert report.losses == {}
    assert "there is no such file" in report.render()
    assert (tmp_path / "mean" / "checkpoints").is_dir()


@pytest.mark.parametrize("kind", ["pipe", "link", "brackets"])
def test_a_tokenizer_that_is_no_plain_files_leaves_no_folder(run, tmp_path, kind):
    copy = shutil.copytree(run, tmp_path / "run")
    card = copy / "tokenizer" / "tokenizer.json"
    card.unlink()
    match kind:
        case "pipe":
            os.mkfifo(card)
        case "link":
            card.symlink_to(run / "tokenizer" / "tokenizer.json")
        case _:
            card.write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        average([f"{copy}@20", f"{copy}@40"], out=tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_a_mean_that_is_not_finite_is_refused_and_leaves_no_folder(run, tmp_path, monkeypatch):
    real = Checkpoint.load_model

    def spoiled(self):
        tensors = real(self)
        if self.step == 20:
            tensors["embedding.weight"][0, 0] = float("nan")
        return tensors

    monkeypatch.setattr(Checkpoint, "load_model", spoiled)
    with pytest.raises(InputError, match=r"not finite[\s\S]*in 1 of \d+ tensors, such as embedding\.weight"):
        average([f"{run}@20", f"{run}@40"], out=tmp_path / "mean")
    assert not (tmp_path / "mean").exists()

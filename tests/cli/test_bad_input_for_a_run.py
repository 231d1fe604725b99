"""What does not belong to a finished run, and disks without room: refused by the real commands, and nothing is lost."""

import errno
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.refusal import has_four_parts, refused
from tests.small_run import small_recipe
from trimtab.errors import DiskFull

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

# Without a validation set, whose translations would rightly be called collapsed after so few steps.
SHORT = {
    "length": "4 steps",
    "step.schedule.warmup": "1 steps",
    "checkpoint.every": "2 steps",
    "data.valid": None,
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A recipe beside its data, and a finished run of it."""
    from trimtab.launch import train  # late: the first tests need no torch

    folder = tmp_path_factory.mktemp("trained")
    recipe = small_recipe(folder, **SHORT)
    train(recipe, out=folder / "run")
    return recipe


@pytest.fixture
def finished(trained, tmp_path):
    """The same recipe and a copy of its run, which may be damaged."""
    shutil.copytree(trained.parent / "run", tmp_path / "run")
    return trained, tmp_path / "run"


def contents(folder):
    """Every file of a run but its lock, with the sha256 of what is in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


@pytest.mark.slow
def test_a_tokenizer_of_another_vocabulary_is_refused(call, finished, tmp_path):
    recipe, run = finished
    other, texts = (
        tmp_path / "other",
        ["--input", recipe.with_name("train.en"), "--input", recipe.with_name("train.de")],
    )
    made = call("tokenizer", "train", *texts, "--out", other, "--vocabulary-size", 64, "--no-byte-fallback")
    assert made.exit_code == 0, made.output
    path = f"data.tokenizer.path={other / 'sentencepiece.model'}"
    message = refused(
        call("train", recipe, path, "--out", tmp_path / "new"),
        "data.tokenizer.vocabulary_size", "64 pieces in the model, vocabulary_size 66", "set vocabulary_size to 64",
    )  # fmt: skip
    assert has_four_parts(message)
    shutil.rmtree(run / "tokenizer")
    shutil.copytree(other, run / "tokenizer")
    before = contents(run)
    resumed = call("train", recipe, "length=8 steps", "--out", run, "--resume")
    assert has_four_parts(refused(resumed, "tokenizer has changed"))
    assert has_four_parts(refused(call("translate", run, stdin="the wind\n"), "tokenizer"))
    assert contents(run) == before


@pytest.mark.slow
def test_changed_data_is_refused_on_resume_and_the_run_is_left_as_it_was(call, finished):
    recipe, run = finished
    data, before = recipe.with_name("train.en"), contents(run)
    more = ["length=8 steps", "--out", run, "--resume"]
    text = data.read_text()
    data.write_text(text.replace("ship", "boat", 1))
    try:
        result = call("train", recipe, *more)
    finally:
        data.write_text(text)
    message = refused(result, "data.train.", "has changed since the checkpoint was written", "recipe.yaml:4:")
    assert has_four_parts(message)
    assert contents(run) == before
    assert call("train", recipe, *more).exit_code == 0


def test_changed_settings_are_refused_on_resume_with_their_keys(call, finished):
    recipe, run = finished
    message = refused(
        call("train", recipe, "length=8 steps", "step.clip.at=0.5", "seed=4", "--out", run, "--resume"),
        "recipe.step.clip.at", "(command line: step.clip.at=0.5)", "got     0.5", "allowed 1.0", "recipe.seed",
    )  # fmt: skip
    assert message.count("error: ") == 2
    assert "length" not in message


def test_a_run_is_not_overwritten(call, finished):
    recipe, run = finished
    before = contents(run)
    refused(call("train", recipe, "--out", run), "already contains a run", "--resume")
    assert contents(run) == before


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="tells which file a descriptor is")
def test_a_full_disk_ends_the_run_with_75_and_loses_no_checkpoint(call, finished, monkeypatch):
    recipe, run = finished
    before = {name: mark for name, mark in contents(run).items() if name.startswith("checkpoints")}
    more = ["length=8 steps", "--out", run, "--resume"]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_where("model.safetensors"))
        result = call("train", recipe, *more)
    refused(result, "not enough disk space", "needed", "free", "fix", code=DiskFull.exit_code)
    assert "checkpoint-not-saved" in result.stderr
    assert {name: mark for name, mark in contents(run).items() if name.startswith("checkpoints")} == before
    result = call("train", recipe, *more)
    assert result.exit_code == 0, result.output
    assert (run / "checkpoints" / "step-00000008").is_dir()


def full_where(name):
    """fsync on a disk that has no room for files of this name."""
    real = os.fsync

    def sync(descriptor):
        if Path(os.readlink(f"/proc/self/fd/{descriptor}")).name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    return sync


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_disk_under_the_translation_is_told_with_75(call, finished, tmp_path):
    _, run = finished
    (tmp_path / "in").write_text("the wind\n")
    result = call("translate", run, "--input", tmp_path / "in", "--output", "/dev/full")
    refused(result, "no space left to write", "fix", code=DiskFull.exit_code)


def test_a_run_or_checkpoint_that_is_not_there_names_those_that_are(call, finished, tmp_path):
    recipe, run = finished
    refused(call("translate", tmp_path / "rum", stdin=""), "no such run", "did you mean", str(run))
    refused(call("translate", f"{run}@3", stdin=""), "has no checkpoint '3'", f"{run}@2", f"{run}@4")
    refused(call("translate", tmp_path, stdin=""), "is not a run", "did you mean", str(run))
    files = ["--source", recipe.with_name("dev.en"), "--reference", recipe.with_name("dev.de")]
    refused(call("evaluate", tmp_path / "rum", *files), "no such run")


def test_evaluate_refuses_files_that_do_not_belong_together(call, finished):
    recipe, run = finished
    both = ["--source", recipe.with_name("dev.en"), "--reference"]
    message = refused(call("evaluate", run, *both, recipe.with_name("train.de")), "24 lines and 200 lines")
    assert has_four_parts(message)
    message = refused(call("evaluate", run, *both, recipe.with_name("dev.dee")), "no such file")
    assert has_four_parts(message)


def test_translate_names_the_line_that_is_not_utf8_after_what_came_before_it(call, finished, tmp_path):
    _, run = finished
    (tmp_path / "in").write_bytes(b"the wind\ncaf\xe9\n")
    message = refused(call("translate", run, "--input", tmp_path / "in"), "line 2 is not UTF-8", "in:2")
    assert has_four_parts(message)

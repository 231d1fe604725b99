"""Runs and exports that this user may not read or write: every command says so, and none with a traceback."""

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.children import run_in_child
from tests.cli.refusal import has_four_parts, refused
from trimtab.cli.app import app

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
NOBODY = 65534


@pytest.fixture
def world():
    """A folder that everybody can get to, as pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="trimtab-test-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def run(trained_run, world):
    """A copy of the trained run, with text beside it."""
    shutil.copytree(trained_run, world / "run")
    shutil.copy(trained_run.parent / "recipe.yaml", world / "recipe.yaml")
    for name in ("a.en", "a.de"):
        (world / name).write_text("the ship\n")
    return world / "run"


def all_refused(world, *commands):
    """Gives every command to nobody, and looks at what it says."""

    def as_nobody() -> None:
        signal.alarm(60)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.chdir(world)
        for command in commands:
            result = CliRunner().invoke(app, [str(each) for each in command])
            if result.exit_code != 2:
                raise AssertionError(f"{command}: {result.output}") from result.exception
            assert has_four_parts(refused(result)), (command, result.stderr)

    assert run_in_child(as_nobody) == 0


def reading(model):
    """The commands that read a run or an export."""
    return [
        ("translate", model, "--input", "a.en"),
        ("evaluate", model, "--source", "a.en", "--reference", "a.de"),
        ("evaluate", model, "--text", "a.en"),
        ("score", model, "--source", "a.en", "--target", "a.de"),
        ("generate", model, "--prompt", "the"),
    ]


@pytest.mark.quick("tokenizer", "checkpoints")
@as_root
@pytest.mark.parametrize(
    "closed",
    [
        "",
        "recipe.yaml",
        "tokenizer",
        "tokenizer/sentencepiece.model",
        "tokenizer/tokenizer.json",
        "checkpoints",
    ],
)
def test_a_run_that_may_not_be_read_is_told_by_every_command_that_reads_it(run, world, closed):
    os.chmod(run / closed, 0)
    averaged = () if closed.startswith("tokenizer/") else (("average", "run@20", "run@40", "--out", "new"),)
    all_refused(
        world,
        *reading("run"),
        *reading("run@last"),
        ("translate", "run", "run@20", "--input", "a.en"),
        ("export", "run", "--out", "new"),
        ("replay", "run", "--step", "3"),
        *averaged,
    )


@pytest.mark.quick("metrics.jsonl")
@as_root
@pytest.mark.parametrize(
    "closed", ["", "checkpoints", "tokenizer", "metrics.jsonl", "evaluations.jsonl", ".lock"]
)
def test_a_run_that_may_not_be_written_is_not_gone_on_with(run, world, closed):
    for folder, _, files in os.walk(run):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            os.chown(path, NOBODY, NOBODY)
    os.chmod(run / closed, 0)
    all_refused(world, ("train", "recipe.yaml", "--out", "run", "--resume"))
    os.chmod(run / closed, 0o755)
    os.chown(run / closed, 0, 0)
    if closed != "tokenizer":
        all_refused(world, ("train", "recipe.yaml", "--out", "run", "--resume"))


@pytest.mark.quick("model.safetensors")
@as_root
@pytest.mark.parametrize(
    "closed",
    ["", "trimtab", "trimtab/export.json", "trimtab/trained.yaml", "config.json", "model.safetensors"],
)
def test_an_export_that_may_not_be_read_is_told_by_every_command_that_reads_it(
    run, exported_run, world, closed
):
    shutil.copytree(exported_run, world / "export")
    os.chmod(world / "export" / closed, 0)
    all_refused(world, *reading("export"))


@as_root
def test_logs_that_may_not_be_read_are_told_by_what_reads_them(run, world):
    for name in ("metrics.jsonl", "quarantine.jsonl"):
        (run / name).touch()
        os.chmod(run / name, 0)
        all_refused(world, ("replay", "run", "--step", "3"))
        os.chmod(run / name, 0o644)


@as_root
def test_a_place_that_may_not_be_written_is_told_before_the_work(run, world):
    (world / "closed").mkdir(mode=0o755)
    all_refused(
        world,
        ("translate", "run", "--input", "a.en", "--output", "closed/a.de"),
        ("generate", "run", "--prompt", "the", "--output", "closed/a.de"),
        ("train", "recipe.yaml", "--out", "closed/run"),
        ("train", "recipe.yaml", "--out", "closed"),
        ("average", "run@20", "run@40", "--out", "closed/mean"),
        ("average", "run@20", "run@40", "--out", "closed"),
        ("export", "run", "--out", "closed/export"),
    )

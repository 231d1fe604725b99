"""Damage to the files of a real run: each flipped bit is seen, the older checkpoint is taken, and none is no run."""

import os
import random
import shutil
from pathlib import Path

import pytest

from tests.faults.counting import Count
from tests.faults.killing import logs
from trimtab.checkpoint.load import open_checkpoint
from trimtab.checkpoint.manifest import Damaged
from trimtab.checkpoint.step_folders import list_steps, step_name
from trimtab.checkpoint.store import CheckpointStore
from trimtab.data.sentencepiece_model import load_tokenizer
from trimtab.errors import InputError, NothingToResume
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

FILES = ("manifest.json", "model.safetensors", "optimizer.safetensors", "state.json")
FLIPS = [20, pytest.param(200, marks=pytest.mark.slow)]


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, with checkpoints 20, 40 and 60."""
    shutil.copytree(trained_run, tmp_path / "run")
    return tmp_path / "run"


def flip_a_bit(content: bytes, draw: random.Random) -> bytes:
    flipped = bytearray(content)
    flipped[draw.randrange(len(flipped))] ^= 1 << draw.randrange(8)
    return bytes(flipped)


def is_noticed(checkpoint: Path) -> bool:
    try:
        found = open_checkpoint(checkpoint)
        found.verify()
        found.load_state()
    except Damaged:
        return True
    return False


@pytest.mark.quick("manifest.json-20", "state.json-20")
@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("file", FILES)
def test_every_flipped_bit_of_a_checkpoint_is_noticed(file: str, flips: int, run: Path, count: Count):
    checkpoint, draw = run / "checkpoints" / step_name(60), random.Random(file)
    content = (checkpoint / file).read_bytes()
    noticed = 0
    for _ in range(flips):
        (checkpoint / file).write_bytes(flip_a_bit(content, draw))
        noticed += is_noticed(checkpoint)
    count("corruptions", tried=flips, held=noticed)
    assert noticed == flips


@pytest.mark.parametrize("flips", FLIPS)
def test_every_flipped_bit_of_the_tokenizer_is_noticed(flips: int, run: Path, count: Count):
    file, draw = run / "tokenizer" / "sentencepiece.model", random.Random(1)
    content, noticed = file.read_bytes(), 0
    for _ in range(flips):
        file.write_bytes(flip_a_bit(content, draw))
        try:
            load_tokenizer(file.parent)
        except InputError:
            noticed += 1
    count("corruptions", tried=flips, held=noticed)
    assert noticed == flips


@pytest.mark.parametrize("file", FILES)
def test_a_file_cut_off_at_every_tenth_and_before_its_last_byte_is_noticed(
    file: str, run: Path, count: Count
):
    checkpoint = run / "checkpoints" / step_name(60)
    content = (checkpoint / file).read_bytes()
    lengths = [*(len(content) * tenth // 10 for tenth in range(10)), len(content) - 1]
    noticed = 0
    for length in lengths:
        (checkpoint / file).write_bytes(content[:length])
        noticed += is_noticed(checkpoint)
    count("corruptions", tried=len(lengths), held=noticed)
    assert noticed == len(lengths)


@pytest.mark.parametrize("file", FILES)
def test_files_of_two_steps_in_one_folder_are_noticed(file: str, run: Path, count: Count):
    newest, older = (run / "checkpoints" / step_name(step) for step in (60, 40))
    shutil.copy(older / file, newest / file)
    noticed = is_noticed(newest)
    count("corruptions", tried=1, held=noticed)
    assert noticed


@pytest.mark.slow
def test_a_run_whose_newest_checkpoint_is_damaged_goes_on_from_the_one_before(
    run: Path, trained_run: Path, count: Count
):
    file = run / "checkpoints" / step_name(60) / "optimizer.safetensors"
    file.write_bytes(flip_a_bit(file.read_bytes(), random.Random(2)))
    told = train(trained_run.parent / "recipe.yaml", out=run, resume=True).findings
    same = file.read_bytes() == (trained_run / "checkpoints" / step_name(60) / file.name).read_bytes()
    count("corruptions", tried=1, held=same, steps_lost=[20])
    assert "K901" in [each.code for each in told]
    assert same
    assert logs(run)["metrics"] == logs(trained_run)["metrics"]


def test_a_run_of_which_no_checkpoint_is_sound_does_not_begin_again(
    run: Path, trained_run: Path, count: Count
):
    for step in list_steps(run / "checkpoints"):
        (run / "checkpoints" / step_name(step) / "state.json").write_bytes(b"")
    metrics = (run / "metrics.jsonl").read_bytes()
    with pytest.raises(NothingToResume) as caught:
        train(trained_run.parent / "recipe.yaml", out=run, resume=True)
    count("corruptions", tried=3, held=3 * (caught.value.exit_code == 3))
    assert caught.value.exit_code == 3
    assert (run / "metrics.jsonl").read_bytes() == metrics


def test_the_order_of_checkpoints_is_that_of_their_steps_whatever_the_clock_said(run: Path, count: Count):
    draw = random.Random(3)
    for path in sorted((run / "checkpoints").rglob("*")):
        moment = draw.randrange(10**9)
        os.utime(path, (moment, moment))
    newest = CheckpointStore(run / "checkpoints", keep=3).latest()
    count("corruptions", tried=1, held=newest is not None and newest.step == 60)
    assert newest is not None
    assert newest.step == 60

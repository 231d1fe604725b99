"""Real runs whose logs cannot be written, from their first line on or from the middle: they train to their end."""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.children import Command
from tests.small_run import small_recipe

LONGEST_WAIT = 120.0

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return small_recipe(tmp_path)


def weights(run: Path) -> str:
    return hashlib.sha256(
        (run / "checkpoints" / "step-00000060" / "model.safetensors").read_bytes()
    ).hexdigest()


def logs_fail(number: int) -> None:
    """From now on no log of a run in this process takes a byte."""
    write = os.write

    def write_or_fail(descriptor: int, content: bytes) -> int:
        if os.readlink(f"/proc/self/fd/{descriptor}").partition(" ")[0].endswith(".jsonl"):
            raise OSError(number, os.strerror(number))
        return write(descriptor, content)

    os.write = write_or_fail


def begin(error: str | None) -> None:
    """The checks of the model, which write no log, are left out."""
    from trimtab import launch  # late: in the child
    from trimtab.training.preflight.every_check import of_the_data

    launch.preflight = of_the_data
    if error is not None:
        logs_fail(getattr(errno, error))


def train(
    *arguments: object, error: str | None = None, stderr: BinaryIO | None = None
) -> tuple[int | None, str]:
    """The exit code of a run in a process of its own, and what it said."""
    process = Command("train", *arguments, first=partial(begin, error), stderr=stderr)
    said = process.communicate(LONGEST_WAIT)[1]
    return process.returncode, said


@needs_proc
@pytest.mark.parametrize(
    "error",
    ["ENOSPC", pytest.param("EIO", marks=pytest.mark.slow), pytest.param("EROFS", marks=pytest.mark.slow)],
)
def test_a_run_whose_logs_take_nothing_ends_with_the_same_weights_and_says_so_once_for_each(
    recipe: Path, tmp_path: Path, trained_run: Path, error: str
):
    code, said = train(recipe, "--out", tmp_path / "run", error=error)
    assert code == 0, said
    assert weights(tmp_path / "run") == weights(trained_run)
    assert "Traceback" not in said
    for log in ("metrics", "evaluations", "samples"):
        assert said.count(f"K905] log-not-written: {log}.jsonl cannot be written") == 1
        assert (tmp_path / "run" / f"{log}.jsonl").read_bytes() == b""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_run_that_can_tell_nobody_anything_ends_with_the_same_weights(
    recipe: Path, tmp_path: Path, trained_run: Path
):
    with open("/dev/full", "wb") as full:
        assert train(recipe, "--out", tmp_path / "run", stderr=full)[0] == 0
    assert weights(tmp_path / "run") == weights(trained_run)
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 60


@pytest.fixture
def full_log(tmp_path: Path):
    """A place for a file on a disk of its own that takes no more byte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", disk], capture_output=True, check=False
    ).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    (disk / "log").touch()
    (disk / "filling").write_bytes(bytes(4096))
    mounted: list[Path] = []

    def mount(path: Path) -> None:
        path.touch()
        subprocess.run(["mount", "--bind", disk / "log", path], check=True)
        mounted.append(path)

    yield mount
    for path in [*mounted, disk]:
        subprocess.run(["umount", path], check=True)


@pytest.mark.slow
def test_metrics_on_a_disk_that_is_really_full_do_not_stop_the_run(recipe: Path, tmp_path: Path, full_log):
    run = tmp_path / "run"
    assert train(recipe, "--out", run, "length=20 steps")[0] == 0
    (run / "metrics.jsonl").unlink()
    full_log(run / "metrics.jsonl")
    code, said = train(recipe, "--out", run, "--resume")
    assert code == 0, said
    assert "metrics.jsonl cannot be written: No space left on device; training continues" in said
    assert (run / "checkpoints" / "step-00000060").exists()


def test_a_run_whose_folder_is_deleted_trains_on_to_its_next_checkpoint_and_then_says_what_is_missing(
    tmp_path: Path,
):
    recipe, run = (
        small_recipe(
            tmp_path, length="100 steps", **{"checkpoint.every": "90 steps", "evaluate.every": "90 steps"}
        ),
        tmp_path / "run",
    )
    process = Command("train", recipe, "--out", run)
    try:
        until = time.monotonic() + LONGEST_WAIT
        while not (run / "metrics.jsonl").exists():
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.01)
        while run.exists():  # a file may come into a folder that is just being deleted
            assert time.monotonic() < until
            shutil.rmtree(run, ignore_errors=True)
        said = process.communicate(timeout=LONGEST_WAIT)[1]
    finally:
        process.kill()
    assert process.returncode == 1, said
    assert "Traceback" not in said
    assert "cannot be written: No such file or directory" in said
    assert not run.exists()


@pytest.mark.slow
def test_lines_that_a_run_lost_are_not_made_up_when_it_goes_on(recipe: Path, tmp_path: Path):
    run = tmp_path / "run"
    assert train(recipe, "--out", run, "length=20 steps", error="ENOSPC")[0] == 0
    assert train(recipe, "--out", run, "--resume")[0] == 0
    steps = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(21, 61))

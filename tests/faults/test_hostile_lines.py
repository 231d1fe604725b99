"""A line that is no text changes nothing for the others: not the loss of any step, not the memory; and it is named."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.faults.counting import Count
from tests.faults.killing import logs
from tests.faults.measured import train_and_measure
from tests.small_run import small_recipe, small_sources
from trimtab.checkpoint.step_folders import step_name

LINE, STEPS = 57, 12
"""The line, from 0, and enough steps for three epochs."""
ROOM = 32 * 2**20
"""Bytes by which two runs of the same recipe may differ."""
HOSTILE = {
    "slashes": b"/" * 1_000_000,
    "backslashes": b"\\" * 1_000_000,
    "without a line end": b"abcdefg " * (100_000_000 // 8),
}

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks for memory in /proc")


def recipe_with(folder: Path, line: bytes, *, tokenizer: Path) -> Path:
    """The small recipe with one source line in the place of another; it is read as many times as there are epochs."""
    recipe = small_recipe(
        folder,
        length=f"{STEPS} steps",
        **{
            "checkpoint.every": f"{STEPS} steps",
            "evaluate.every": f"{STEPS} steps",
            "data.tokenizer": {"path": str(tokenizer)},
        },
    )
    lines = (folder / "train.en").read_bytes().split(b"\n")
    lines[LINE] = line
    (folder / "train.en").write_bytes(b"\n".join(lines))
    return recipe


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all runs: what a line is replaced by would change one that is trained."""
    folder = tmp_path_factory.mktemp("tokenizer")
    small_sources(folder)
    return folder / "tokenizer" / "sentencepiece.model"


@pytest.fixture(scope="module")
def clean(tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A run in which the line is blank, so that it is dropped at the same position; and its memory."""
    folder = tmp_path_factory.mktemp("clean")
    recipe = recipe_with(folder, b"", tokenizer=tokenizer)
    return folder / "run", train_and_measure(recipe, folder / "run")


def weights(run: Path) -> str:
    file = run / "checkpoints" / step_name(STEPS) / "model.safetensors"
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("slashes", marks=pytest.mark.slow),
        pytest.param("backslashes", marks=pytest.mark.slow),
        pytest.param("without a line end", marks=pytest.mark.slow),
    ],
)
def test_one_line_of_junk_changes_nothing_and_is_named(
    kind: str, tokenizer: Path, clean: tuple[Path, int], tmp_path: Path, count: Count
):
    recipe, run = recipe_with(tmp_path, HOSTILE[kind], tokenizer=tokenizer), tmp_path / "run"
    peak = train_and_measure(recipe, run)
    expected, peak_without = clean
    found = [each for each in logs(run)["findings"] if each["code"] == "D207"]
    same = logs(run)["metrics"] == logs(expected)["metrics"] and weights(run) == weights(expected)
    count("data faults", tried=1, held=same and len(found) == 1 and peak < peak_without + ROOM)
    assert logs(run)["metrics"] == logs(expected)["metrics"]
    assert weights(run) == weights(expected)
    assert peak < peak_without + ROOM
    (finding,) = found
    assert finding["where"] == f"{tmp_path}/train.en:{LINE + 1}"
    assert f"line {LINE + 1} has {len(HOSTILE[kind]):,}" in finding["message"]
    (corpus,) = json.loads((run / "data_ledger.json").read_text())["corpora"]
    assert corpus["dropped"]["too_long"]["lines"] == [LINE + 1]
    assert corpus["dropped"]["too_long"]["count"] >= 2

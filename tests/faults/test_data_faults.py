"""Text that is no text, too little of it, and files that change while they are read."""

import json
import math
import os
from pathlib import Path

import pytest
import torch

from tests.faults.counting import Count
from tests.faults.killing import logs
from tests.small_run import small_parts, small_recipe, small_sources
from tests.training.small_line import Told
from trimtab.checkpoint.step_folders import list_steps
from trimtab.errors import InputError
from trimtab.launch import train
from trimtab.step.accumulate import accumulate

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

SHORT = {
    "length": "8 steps",
    "step.schedule.warmup": "2 steps",
    "evaluate.every": "90 steps",
    "checkpoint.every": "4 steps",
}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    small_sources(folder)
    return folder / "tokenizer" / "sentencepiece.model"


def losses(run: Path) -> list[float]:
    return [each["loss"] for each in logs(run)["metrics"]]


ODD = {
    "NUL bytes": "the\0small ship",
    "a byte order mark within": "the \ufeffsmall ship",
    "a carriage return at its end": "the small ship\r",
    "a carriage return within": "the small\rship",
    "zero-width characters alone": "\u200b\u200b",
    "from right to left": "\u202eהרוח מושכת\u202c",
    "half an emoji": "the \U0001f9d1\u200d ship",
    "other line ends": "the small\u2028ship\x85turns",
    "private and unassigned characters": "\ue000\U0010ffff the",
    "control characters": "".join(map(chr, range(1, 9))) + "the",
    "nothing": "",
    "spaces": " \t\u00a0 ",
    "a thousand marks on one letter": "e" + "\u0301" * 1000,
}


@pytest.mark.slow
def test_odd_characters_are_trained_on_or_dropped_and_counted_and_never_end_a_run(
    tokenizer: Path, tmp_path: Path, count: Count
):
    recipe = small_recipe(tmp_path, **SHORT, **{"data.tokenizer": {"path": str(tokenizer)}})
    lines = (tmp_path / "train.en").read_text().splitlines()
    lines[: len(ODD)] = ODD.values()
    (tmp_path / "train.en").write_bytes(b"\xef\xbb\xbf" + "".join(line + "\n" for line in lines).encode())
    run = train(recipe, out=tmp_path / "run").run
    (corpus,) = json.loads((run / "data_ledger.json").read_text())["corpora"]
    held = all(map(math.isfinite, losses(run))) and corpus["seen"] > 200
    count("data faults", tried=len(ODD), held=len(ODD) * held)
    assert held
    blank = {
        number + 1
        for number, name in enumerate(ODD)
        if name in ("nothing", "spaces", "zero-width characters alone")
    }
    assert blank <= set(corpus["dropped"]["empty_source"]["lines"])
    assert corpus["kept"] + sum(each["count"] for each in corpus["dropped"].values()) == corpus["seen"]


@pytest.mark.quick("1")
@pytest.mark.parametrize("pairs", [1, 3])
def test_fewer_pairs_than_a_window_holds_are_read_again_and_again(
    pairs: int, tokenizer: Path, tmp_path: Path, count: Count
):
    recipe = small_recipe(tmp_path, **SHORT, **{"data.tokenizer": {"path": str(tokenizer)}})
    for side in ("en", "de"):
        file = tmp_path / f"train.{side}"
        file.write_text("".join(line + "\n" for line in file.read_text().splitlines()[:pairs]))
    run = train(recipe, out=tmp_path / "run").run
    held = all(map(math.isfinite, losses(run)))
    count("data faults", tried=1, held=held)
    assert held
    assert logs(run)["metrics"][-1]["epoch"] > 8


def test_a_pack_of_which_no_target_counts_has_no_loss_and_no_gradient(tmp_path: Path, count: Count):
    parts = small_parts(tmp_path)
    _, packs = next(parts.stream.batches(0))
    labels = packs[0].labels
    masked = labels.new_full(labels.shape, int(labels.min()) if int(labels.min()) < 0 else -100)
    object.__setattr__(packs[0], "labels", masked)
    total = accumulate(parts.stepper.objective, packs[:1])
    norms = [float(each.grad.norm()) for each in parts.stepper.optimizer.parameters if each.grad is not None]
    held = float(total.loss) == 0.0 and all(norm == 0.0 for norm in norms)
    count("data faults", tried=1, held=held)
    assert torch.isfinite(total.objective)
    assert held


@pytest.mark.slow
def test_a_file_that_shrinks_while_it_is_read_ends_the_run_with_its_name_and_loses_nothing(
    tmp_path: Path, count: Count
):
    recipe = small_recipe(
        tmp_path, **{"data.workers": 1, "checkpoint.every": "4 steps", "length": "4000 steps"}
    )
    file = tmp_path / "train.de"

    def watch(step: int) -> None:
        if step == 5:
            os.truncate(file, file.stat().st_size // 2)

    with pytest.raises(InputError) as caught:
        train(recipe, out=tmp_path / "run", progress=Told(watch=watch))
    named = f"{file}: the file or its index changed while it was in use" in str(caught.value)
    count("data faults", tried=1, held=named)
    assert named
    assert max(list_steps(tmp_path / "run" / "checkpoints")) >= 4
    # And it is not gone on with, since the content is another one.
    with pytest.raises(InputError, match="different numbers of lines"):
        train(recipe, out=tmp_path / "run", resume=True)


@pytest.mark.slow
def test_a_file_that_is_deleted_or_replaced_while_it_is_read_is_read_to_the_end(tmp_path: Path, count: Count):
    recipe = small_recipe(tmp_path, **SHORT)
    expected = train(recipe, out=tmp_path / "expected").run

    def watch(step: int) -> None:
        if step == 3:
            (tmp_path / "train.en").unlink()
            (tmp_path / "new").write_text("another text\n")
            (tmp_path / "new").rename(tmp_path / "train.de")

    run = train(recipe, out=tmp_path / "run", progress=Told(watch=watch)).run
    same = logs(run)["metrics"] == logs(expected)["metrics"]
    count("data faults", tried=2, held=2 * same)
    assert same

"""Two processes on a CPU train the small recipe as one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.distributed.small_ranks import POISONED, RUN_STEPS, SIGNALLED, STEPS
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.store import CheckpointStore
from trimtab.distributed.torch_ranks import in_buckets, wide

ROOT = Path(__file__).parent.parent.parent
MOST_SECONDS = 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def trained(folder):
    """What one process found, and what each of two did: processes of their own, begun at the same time."""
    whole, first, second = (start(folder, *each) for each in ((0, 1), (0, 2), (1, 2)))
    try:
        for process in (whole, first, second):
            output, _ = process.communicate(timeout=MOST_SECONDS)
            assert process.returncode == 0, output.decode()[-4000:]
    finally:
        for process in (whole, first, second):
            process.kill()
    return [found(folder / name) for name in ("rank0of1", "rank0of2", "rank1of2")]


def start(folder, rank, world_size):
    command = [sys.executable, "-m", "tests.distributed.small_ranks", folder, str(rank), str(world_size)]
    # Gloo listens on the machine itself, whatever its network is.
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def found(folder):
    return json.loads((folder / "found.json").read_text()), torch.load(folder / "kept.pt", weights_only=True)


def test_two_ranks_have_the_loss_and_the_norm_of_one_process(trained):
    (whole, _), (first, _), _ = trained
    assert len(whole["lines"]) == len(first["lines"]) == STEPS
    for alone, ranked in zip(whole["lines"], first["lines"], strict=True):
        assert ranked["counts"] == alone["counts"]
        spoilt = alone["counts"][-1] != 0
        for key in ("loss",) if spoilt else ("loss", "objective", "grad_norm", "clipped"):
            assert ranked[key] == pytest.approx(alone[key], rel=2e-6)


def test_their_weights_are_those_of_one_process_up_to_the_order_of_additions(trained):
    (_, whole), (_, first), _ = trained
    assert first.keys() == whole.keys()
    for name, tensor in whole.items():
        difference = (first[name] - tensor).abs()
        assert difference.median() < 1e-5, name
        # Adam moves the biases of keys, whose gradient is 0 but for rounding, by rounding alone.
        assert difference.max() < 5e-3, name


def test_both_ranks_keep_the_same_bits_and_remember_the_same(trained):
    _, (first, mine), (second, theirs) = trained
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if not torch.equal(mine[name], theirs[name])] == []
    assert (first["gate"], first["clip"]) == (second["gate"], second["clip"])
    assert first["gate"]["losses"]
    assert first["clip"]["averages"]
    for one, other in zip(first["lines"], second["lines"], strict=True):
        assert repr(one | {"batches": 0}) == repr(other | {"batches": 0})


def test_what_is_not_finite_on_one_rank_is_skipped_on_both(trained):
    for each, _ in trained:
        refused = [step for step, line in enumerate(each["lines"]) if line["counts"][-1]]
        assert refused == [POISONED]


def test_micro_batches_were_dealt_and_a_rank_without_any_took_part(trained):
    (whole, _), (first, _), (second, _) = trained
    dealt = [
        (one["batches"], other["batches"]) for one, other in zip(first["lines"], second["lines"], strict=True)
    ]
    assert [sum(each) for each in dealt] == [line["batches"] for line in whole["lines"]]
    assert {(1, 0), (2, 2)} <= set(dealt)
    assert any(line["counts"][2] for line in whole["lines"])


def test_a_run_of_two_ranks_writes_what_one_process_writes(trained, folder):
    alone, ranked = (list(read_journal(folder / name / "metrics.jsonl")) for name in ("run_of_1", "run_of_2"))
    assert [line["step"] for line in ranked] == [*range(1, RUN_STEPS + 1)]
    for one, other in zip(alone, ranked, strict=True):
        for key in ("step", "target_tokens", "tokens", "micro_batches", "fill", "updates"):
            assert other[key] == one[key], key
        assert other["loss"] == pytest.approx(one["loss"], rel=1e-5)
    assert max(line["micro_batches"] for line in ranked) == 4
    scored = [line["step"] for line in read_journal(folder / "run_of_2" / "evaluations.jsonl")]
    assert scored == [4, RUN_STEPS]
    assert CheckpointStore(folder / "run_of_2" / "checkpoints", keep=3).latest().step == RUN_STEPS


def test_a_signal_to_one_rank_stops_both_after_the_same_step_and_they_resume_together(trained):
    (alone, _), (first, _), (second, _) = trained
    assert f"after step {SIGNALLED};" in alone["stopped"]
    # The rank had taken the step before the signal came, so both hear of it after the next one.
    assert f"after step {SIGNALLED + 1};" in first["stopped"]
    assert second["stopped"] == first["stopped"]
    assert second["state"] == first["state"]
    assert first["state"]["step"] == RUN_STEPS
    assert first["state"]["position"] == alone["state"]["position"]


def test_buckets_keep_the_order_and_part_where_the_precision_changes():
    sizes = [
        (3, torch.float32),
        (4, torch.float32),
        (9, torch.float32),
        (1, torch.bfloat16),
        (2, torch.float32),
    ]
    tensors = [torch.zeros(size, dtype=dtype) for size, dtype in sizes]
    assert [[len(each) for each in bucket] for bucket in in_buckets(tensors, largest=8)] == [
        [3, 4],
        [9],
        [1],
        [2],
    ]
    assert list(in_buckets([])) == []


def test_half_precision_is_summed_in_float32():
    assert wide(torch.zeros(2, dtype=torch.bfloat16)).dtype == torch.float32
    assert wide(torch.zeros(2, dtype=torch.float64)).dtype == torch.float64

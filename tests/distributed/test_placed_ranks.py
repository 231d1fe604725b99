"""Two and three processes train a modular model, each with directions of its own, as one process does."""

import json
import os
import signal
from contextlib import nullcontext, suppress
from weakref import ref

import pytest
import torch
import torch.distributed as dist
from torch import nn

from tests.children import start_child, wait
from tests.distributed import placed_run
from tests.distributed.placed_run import STEPS
from tests.distributed.test_torch_ranks import free_port
from tests.modular_run import modular_recipe
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.distributed.placed_ranks import PlacedRanks, ReplicatedWeights
from trimtab.distributed.torch_ranks import TorchRanks

SIZES = (2, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("placed")
    for size in (1, *SIZES):
        for rank in range(size):
            modular_recipe(folder / f"data{size}_{rank}")
    ports = {size: free_port() for size in SIZES} | {1: 0}

    def begin_them_all() -> None:
        os.setsid()  # to be ended together
        placed_run.main(folder, ports)

    child = start_child(begin_them_all)
    try:
        assert wait(child) == 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    assert json.loads((folder / "codes.json").read_text()) == [0] * 6
    return folder


def found(folder, size, rank):
    return json.loads((folder / f"found{size}_{rank}.json").read_text())


def apart(one, other):
    """The greatest difference of two tables of tensors, relative to the norm of each tensor."""
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).norm() / (one[name].norm() + 1e-3)) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("run", ["resumed2", "resumed3", "given2"])
def test_ranks_with_directions_of_their_own_train_as_one_process_does(folder, run):
    alone, placed = (resolve_checkpoint(str(folder / name)) for name in (f"{run[:-1]}1", run))
    assert apart(alone.load_model(), placed.load_model()) < 1e-6
    assert apart(alone.load_optimizer(), placed.load_optimizer()) < 1e-5
    lines = [[*read_journal(folder / name / "metrics.jsonl")] for name in (f"{run[:-1]}1", run)]
    for one, other in zip(*lines, strict=True):
        for key in ("loss", "grad_norm", *(["clip_cosine"] if run.startswith("resumed") else [])):
            assert one[key] == pytest.approx(other[key], rel=1e-5)
        assert one.get("n_clips") == other.get("n_clips")
        assert one["target_tokens"] == other["target_tokens"]
    assert lines[1][-1]["step"] == (STEPS if run.startswith("resumed") else 3)
    scores = [[*read_journal(folder / name / "evaluations.jsonl")][-1] for name in (f"{run[:-1]}1", run)]
    assert scores[0]["loss"] == pytest.approx(scores[1]["loss"], rel=1e-5)


@pytest.mark.slow
def test_a_rank_keeps_optimizer_states_of_its_own_components_alone(folder):
    whole = set(found(folder, 1, 0)["states"][0])
    for size in SIZES:
        each = [set(found(folder, size, rank)["states"][0]) for rank in range(size)]
        assert set.union(*each) == whole
        assert all(own < whole for own in each)


@pytest.mark.slow
def test_a_rank_does_not_wait_for_components_that_it_does_not_train(folder):
    first, second, third = (found(folder, 3, rank)["late"] for rank in range(3))
    assert first["sum"] == second["sum"] == [3.0, 3.0, 3.0]
    assert third["sum"] == [3.0, 3.0]
    # Each component is counted by its first holder.
    assert first["squares"] == pytest.approx([27.0, 0.0])
    assert second["squares"] == [0.0, 0.0]
    assert third["squares"] == pytest.approx([0.0, 18.0])


class First(TorchRanks):
    """Rank 0 of two, of which the other holds `b` and `c`."""

    def __init__(self):
        self.rank, self.world_size = 0, 2

    def gather(self, content):
        return [content, {"b": [[3], "float32"], "c": [[2], "bfloat16"]}]

    def collective(self, *, on):
        return nullcontext()


def test_rank_0_holds_one_received_tensor_at_a_time_on_its_device(monkeypatch):
    weights = {name: nn.Parameter(torch.zeros(size)) for name, size in (("a", 2), ("b", 3), ("c", 2))}
    held = [
        ReplicatedWeights("one", (0,), {"a": weights["a"]}),
        ReplicatedWeights("two", (1,), {name: weights[name] for name in "bc"}),
    ]
    received = []

    def receive(tensor, *, src):
        assert all(each() is None for each in received[:-1])
        received.append(ref(tensor.fill_(len(received) + src)))

    monkeypatch.setattr(dist, "recv", receive)
    placed = PlacedRanks(First(), held)
    whole = placed.whole({"a": weights["a"].detach()}, keep=True)
    assert {name: each.tolist() for name, each in whole.items()} == {"a": [0, 0], "b": [1, 1, 1], "c": [2, 2]}
    assert whole["c"].dtype == torch.bfloat16
    assert all(each() is None for each in received), "received tensors are kept, and not their copies"
    assert placed.whole({}, keep=False) == {}

"""Two processes on a CPU train the small recipe as one does."""

import json
import os
import re
import shutil
import signal
import socket
from contextlib import suppress

import pytest
import torch

from tests.children import start_child, wait
from tests.distributed import small_ranks
from tests.distributed.small_ranks import (
    ADAPTED_STEPS,
    DIVIDED_STEPS,
    POISONED,
    POISONED_IN_RUNS,
    RESUMED_STEPS,
    RUN_STEPS,
    SIGNALLED,
    STEPS,
    plain_changes,
)
from tests.faults.killing import digest
from tests.pretrained_folder import pretrained_folder
from tests.pretrained_run import pretrained_recipe
from trimtab import launch
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.store import CheckpointStore
from trimtab.distributed.torch_ranks import in_buckets, wide
from trimtab.errors import RankLost
from trimtab.inference import load_model
from trimtab.model.lora import merged_weights


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def trained(folder):
    """What one process found, and what each of two did: processes of their own, begun at the same time."""
    pretrained_folder(folder / "adapted" / "base")
    pretrained_recipe(folder / "adapted", adapter={"rank": 4, "alpha": 8})
    codes = run(folder, 0, "0/1", "0/2", "1/2")
    assert codes == [0, RankLost.exit_code, -signal.SIGKILL, 0, 0], all_said(folder)
    return [found(folder / name) for name in ("rank0of1", "rank0of2", "rank1of2")]


def run(folder, compared_steps, *ranks):
    """The exit codes of ranks that have run."""
    ports = free_port(), free_port()

    def begin_them_all() -> None:
        os.setsid()  # to be ended together
        small_ranks.main(folder, *ports, compared_steps, *ranks)

    child = start_child(begin_them_all)
    try:
        assert wait(child) == 0, all_said(folder)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    return json.loads((folder / "codes.json").read_text())


def all_said(folder):
    return "\n".join(f"{each.name}:\n{each.read_text()[-3000:]}" for each in folder.glob("said_by_*"))


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


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
    # The signal came to the second, which names it.
    assert second["stopped"].removeprefix("by SIGTERM") == first["stopped"].removeprefix("by a signal")
    assert second["state"] == first["state"]
    assert first["state"]["step"] == RUN_STEPS
    assert first["state"]["position"] == alone["state"]["position"]


def test_what_json_holds_is_gathered_in_the_order_of_ranks(trained):
    for found, _ in trained[1:]:
        assert [(each["rank"], each["text"]) for each in found["gathered"]] == [(0, ""), (1, "ä")]
        assert all(each["nan"] != each["nan"] for each in found["gathered"])


def test_a_rank_that_was_killed_is_named_by_the_other(trained, folder):
    # By its watch, or by the call that broke, whichever was first.
    said = (folder / "said_by_0of2.txt").read_text()
    assert re.search(r"rank 1 \(process \d+\) died on ", said), said
    assert "start it again with --resume" in said
    assert digest(folder / "killed") == digest(folder / "run_of_2")


def test_a_batch_that_was_not_finite_on_one_rank_is_analyzed_once_and_as_in_one_process(trained, folder):
    alone, ranked, divided = (
        list(read_journal(folder / name / "quarantine.jsonl")) for name in ("run_of_1", "run_of_2", "divided")
    )
    assert alone
    for lines in (alone, ranked, divided):
        assert {line["step"] for line in lines} == {POISONED_IN_RUNS + 1}
    worst = [[line["line"] for line in lines] for lines in (alone, ranked, divided)]
    assert worst[1] == worst[0]
    assert worst[2] == worst[0]


def test_an_adapter_beside_divided_weights_is_saved_whole_and_merges_as_one_that_one_process_trains(
    trained, folder
):
    alone, ranked = (folder / "adapted" / f"run_of_{world_size}" for world_size in (1, 2))
    steps = ADAPTED_STEPS[-1]
    losses = [[line["loss"] for line in read_journal(run / "metrics.jsonl")] for run in (ranked, alone)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    saved, theirs = (resolve_checkpoint(f"{run}@{steps}").load_model() for run in (ranked, alone))
    assert {name: each.shape for name, each in saved.items()} == {
        name: each.shape for name, each in theirs.items()
    }
    assert all(".lora_" in name for name in saved)
    merged, expected = (merged_weights(load_model(str(run), device="cpu").model) for run in (ranked, alone))
    for name, tensor in expected.items():
        torch.testing.assert_close(merged[name], tensor, atol=5e-5, rtol=0)


def test_a_divided_model_learns_as_a_whole_one(trained):
    for found, _ in trained[1:]:
        learns_as_a_whole_one(found["compared"])


@pytest.mark.slow
def test_two_and_three_ranks_learn_as_a_whole_model_over_20_steps(tmp_path):
    for world_size in (2, 3):
        folder = tmp_path / str(world_size)
        codes = run(folder, 20, *(f"{rank}/{world_size}" for rank in range(world_size)))
        assert codes == [0] * world_size, all_said(folder)
        for rank in range(world_size):
            # Roundings to bfloat16 grow apart by steps: gradient norms of three ranks differ by 0.6% after 20.
            learns_as_a_whole_one(
                found(folder / f"rank{rank}of{world_size}")[0]["compared"], in_bfloat16=2e-2
            )


def learns_as_a_whole_one(compared, *, in_bfloat16=5e-3):
    exact, mixed = compared["fp32"], compared["bf16_mixed"]
    for key, bound in ((exact, 1e-5), (mixed, in_bfloat16)):
        for one, other in zip(key["numbers"], key["divided"], strict=True):
            assert other == pytest.approx(one, rel=bound)
        assert key["names"] == [True, True]
    assert exact["apart"] < 5e-4


def test_its_weights_moments_and_gradient_sums_are_float32_and_its_blocks_compute_in_bfloat16(trained):
    (first, _), (second, _) = trained[1:]
    for found in (first, second):
        assert found["compared"]["fp32"]["seen"] == ["torch.float32"]
        assert found["compared"]["bf16_mixed"]["seen"] == ["torch.bfloat16"]
        assert found["compared"]["bf16_mixed"]["masters"] == ["torch.float32"]
    held = [each["compared"]["bf16_mixed"]["held"] for each in (first, second)]
    assert max(held) < 0.6 * first["compared"]["bf16_mixed"]["numel"]
    # Weights that took part in half precision alone would not move by updates this small.
    assert 0 < first["compared"]["bf16_mixed"]["apart"] < 0.05


def test_evaluations_have_the_whole_model_on_each_rank(trained):
    assert [found["compared"]["fp32"]["copied"] for found, _ in trained[1:]] == [0.0, 0.0]


def test_a_checkpoint_of_a_divided_model_goes_on_in_one_process(trained, folder, tmp_path):
    shutil.copytree(folder / "divided", tmp_path / "run")
    recipe = folder / "rank0of1" / "recipe.yaml"
    result = launch.train(recipe, overrides=plain_changes(RESUMED_STEPS), out=tmp_path / "run", resume=True)
    assert result.state.step == RESUMED_STEPS
    resumed, alone = (list(read_journal(each / "metrics.jsonl")) for each in (result.run, folder / "plain"))
    for one, other in zip(resumed, alone, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=2e-5)
        assert (one["step"], one["target_tokens"]) == (other["step"], other["target_tokens"])
    assert resumed[DIVIDED_STEPS]["seconds"] >= resumed[DIVIDED_STEPS - 1]["seconds"]


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

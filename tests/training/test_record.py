import dataclasses
import json
from types import SimpleNamespace

import pytest
import torch

from tests.training.small_line import small_line
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.state_file import parse_state, render_state
from trimtab.checkpoint.store import CheckpointStore
from trimtab.training import stopwatch
from trimtab.training.record import Pending
from trimtab.types import StepReport, TrainState

KEYS = {"step", "updates", "loss", "objective", "grad_norm", "clipped", "skipped", "learning_rate"}
KEYS |= {"target_tokens", "tokens", "tokens_per_second", "seconds", "micro_batches", "fill", "epoch"}


def last_state(run):
    return CheckpointStore(run / "checkpoints", keep=9).latest().load_state()


def test_metrics_have_one_line_a_step_with_all_keys(trained_run):
    metrics = list(read_journal(trained_run / "metrics.jsonl"))
    assert [line["step"] for line in metrics] == list(range(1, 61))
    assert all(set(line) == KEYS for line in metrics)
    assert all(0 < line["target_tokens"] <= 256 and line["micro_batches"] == 2 for line in metrics)
    assert all(0 < line["fill"] <= 1 and line["tokens_per_second"] > 0 for line in metrics)


def test_metrics_agree_with_the_state(trained_run):
    metrics, state = list(read_journal(trained_run / "metrics.jsonl")), last_state(trained_run)
    assert (state.step, state.updates, state.skips) == (60, 60, 0)
    assert state.target_tokens == sum(line["target_tokens"] for line in metrics)
    assert state.tokens == sum(line["tokens"] for line in metrics)
    assert state.clips == sum(line["clipped"] for line in metrics)
    assert state.seconds == pytest.approx(metrics[-1]["seconds"], abs=1e-3)
    assert metrics[-1]["epoch"] == pytest.approx(state.position / 200, abs=1e-4)


def test_the_ledger_agrees_with_the_state_and_counts_each_example(trained_run):
    ledger, state = json.loads((trained_run / "data_ledger.json").read_text()), last_state(trained_run)
    assert ledger == state.data
    assert ledger["corpora"][0]["seen"] == ledger["corpora"][0]["kept"] == state.position


def test_a_state_is_plain_data_and_comes_back_as_it_was(trained_run):
    state = last_state(trained_run)
    assert parse_state(render_state(state)) == state
    assert json.loads(json.dumps(dataclasses.asdict(state))) == dataclasses.asdict(state)
    assert all(type(kind) is str for kind in (state.best["set"], state.best["metric"]))


def test_what_waits_on_the_device_is_written_in_its_order_with_its_own_counts(tmp_path):
    line = small_line(tmp_path)
    window, _ = next(line.parts.stream.host_batches(0))
    for step, skipped in ((1, 0.0), (2, 1.0), (3, 0.0)):
        plain = {"step": step, "tokens": 10}
        made = report(loss=float(step), skipped=skipped)
        line.recorder.pending.append(Pending(plain, made, window, position=0))
    state = line.recorder.flush(TrainState(step=3))
    assert (state.updates, state.skips, state.clips) == (2, 1, 3)
    assert line.recorder.pending == []
    metrics = line.log("metrics")
    assert [each["loss"] for each in metrics] == [1.0, 2.0, 3.0]
    assert [each["updates"] for each in metrics] == [1, 1, 2]
    assert [each["skipped"] for each in metrics] == [False, True, False]
    assert line.recorder.flush(state) is state


def report(*, loss, skipped):
    one = torch.tensor(1.0)
    return StepReport(torch.tensor(loss), one, one, one, torch.tensor(int(skipped)), 1e-3, 5, 10)


@pytest.mark.slow
def test_time_spent_evaluating_and_saving_is_not_training(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: clock[0])
    changes = {"length": "4 steps", "evaluate.every": "50 steps", "checkpoint.every": "2 steps"}
    line = small_line(tmp_path, **changes)
    objective = line.parts.stepper.objective

    def slow(pack):
        clock[0] += 1.0 if torch.is_grad_enabled() else 50.0
        return objective(pack)

    line.parts.stepper.objective = slow
    save = line.recorder.checkpointer.save
    slow_save = lambda *args, **kwargs: (clock.append(clock.pop() + 70), save(*args, **kwargs))  # noqa: E731
    fake = SimpleNamespace(save=slow_save, poll=lambda: None, collect=lambda **_: None)
    monkeypatch.setattr(line.recorder, "checkpointer", fake)
    state = line.train()
    assert clock[0] > 100 + 70 * 2 + 50
    assert state.seconds == 8.0  # two packs a step
    assert [each["seconds"] for each in line.log("metrics")] == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.slow
def test_the_progress_hears_of_each_step_and_how_far_the_run_is(tmp_path):
    line = small_line(tmp_path, **{"length": "5 steps", "evaluate.every": "50 steps"})
    line.train()
    assert [each["step"] for each in line.told.steps] == [1, 2, 3, 4, 5]
    assert line.told.shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])


def test_a_step_of_which_a_part_was_clipped_says_so_and_is_counted_where_all_of_it_was(tmp_path):
    line = small_line(tmp_path)
    window, _ = next(line.parts.stream.host_batches(0))
    for step, clipped in ((1, 0.0), (2, 0.4), (3, 1.0)):
        made = dataclasses.replace(report(loss=1.0, skipped=0.0), clipped=torch.tensor(clipped))
        line.recorder.pending.append(Pending({"step": step, "tokens": 10}, made, window, position=0))
    assert line.recorder.flush(TrainState(step=3)).clips == 1
    assert [each["clipped"] for each in line.log("metrics")] == [False, True, True]


def test_what_no_rank_has_read_is_counted_by_the_step_and_not_by_the_part_of_a_rank(tmp_path):
    """A rank that trains some directions alone would else report the tokens of all others."""
    line = small_line(tmp_path)
    window, packs = next(line.parts.stream.host_batches(0))
    assert len(packs) == 2
    line.recorder.after(TrainState(), window, packs[:1], report(loss=1.0, skipped=0.0))
    (seen,) = line.recorder.health.unseen.seen.values()
    assert set(seen.nonzero()[0]) == {*window.source.values, *window.target.values}

import dataclasses
import json

import pytest
import torch

from tests.training.small_line import small_line
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.state_file import parse_state, render_state
from trimtab.checkpoint.store import CheckpointStore
from trimtab.errors import NoRoom
from trimtab.flow import StepReport, TrainState
from trimtab.training import record

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
    for step, skipped in ((1, 0.0), (2, 1.0), (3, 0.0)):
        plain = {"step": step, "tokens": 10}
        line.recorder.pending.append((plain, report(loss=float(step), skipped=skipped)))
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
    return StepReport(torch.tensor(loss), one, one, one, torch.tensor(skipped), 1e-3, 5, 10)


def test_time_spent_evaluating_and_saving_is_not_training(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(record.time, "perf_counter", lambda: clock[0])
    changes = {"length": "4 steps", "evaluate.every": "50 steps", "checkpoint.every": "2 steps"}
    line = small_line(tmp_path, **changes)
    objective = line.parts.objective

    def slow(pack):
        clock[0] += 1.0 if torch.is_grad_enabled() else 50.0
        return objective(pack)

    line.parts.objective = slow
    save = line.recorder.store.save
    line.recorder.store.save = lambda *args, **kwargs: (clock.append(clock.pop() + 70), save(*args, **kwargs))
    state = line.train()
    assert clock[0] > 100 + 70 * 2 + 50
    assert state.seconds == 8.0  # two packs a step
    assert [each["seconds"] for each in line.log("metrics")] == [2.0, 4.0, 6.0, 8.0]


def test_the_same_state_is_saved_once(tmp_path):
    changes = {"length": "4 steps", "evaluate.every": "4 steps", "checkpoint.every": "2 steps"}
    line = small_line(tmp_path, **changes)
    saved = counted_saves(line)
    line.train()
    assert saved == [2, 4]


def counted_saves(line):
    steps, save = [], line.recorder.store.save

    def counted(state, **tensors):
        steps.append(state.step)
        return save(state, **tensors)

    line.recorder.store.save = counted
    return steps


def full_disk(line, *, at):
    """Saves of these steps find no room."""
    tried, save = [], line.recorder.store.save

    def may_fail(state, **tensors):
        tried.append(state.step)
        if state.step in at:
            raise NoRoom("no room on the disk")
        return save(state, **tensors)

    line.recorder.store.save = may_fail
    return tried


EACH_STEP = {"checkpoint.every": "1 steps", "checkpoint.keep": 50, "evaluate.every": "50 steps"}


def test_a_full_disk_stops_the_training_only_at_the_third_try(tmp_path):
    line = small_line(tmp_path, **EACH_STEP)
    tried = full_disk(line, at={3, 4, 5, 6})
    with pytest.raises(NoRoom):
        line.train()
    assert tried == [1, 2, 3, 4, 5]
    assert line.saved_steps() == [1, 2]
    told = [(each["code"], each["severity"], each["step"]) for each in line.log("findings")]
    assert told == [("K907", "warning", 3), ("K907", "warning", 4)]
    assert len(line.log("metrics")) == 5


def test_room_found_again_begins_the_count_anew(tmp_path):
    line = small_line(tmp_path, **EACH_STEP, length="9 steps")
    full_disk(line, at={2, 3, 5, 6})
    assert line.train().step == 9
    assert line.saved_steps() == [1, 4, 7, 8, 9]


def test_the_last_save_of_a_run_must_find_room(tmp_path):
    line = small_line(tmp_path, **EACH_STEP, length="4 steps")
    full_disk(line, at={4})
    with pytest.raises(NoRoom):
        line.train()
    assert line.saved_steps() == [1, 2, 3]


def test_a_save_before_a_stop_must_find_room(tmp_path):
    line = small_line(tmp_path, **EACH_STEP)
    full_disk(line, at={3})
    line.told.watch = lambda step: step == 3 and setattr(line.recorder, "must_stop", True)
    with pytest.raises(NoRoom):
        line.train()


def test_the_progress_hears_of_each_step_and_how_far_the_run_is(tmp_path):
    line = small_line(tmp_path, **{"length": "5 steps", "evaluate.every": "50 steps"})
    line.train()
    assert [each["step"] for each in line.told.steps] == [1, 2, 3, 4, 5]
    assert line.told.shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])

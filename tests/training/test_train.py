import itertools

import numpy as np
import pytest

from tests.training.small_line import equal, small_line, snapshot
from trimtab.checkpoint.journal import read_journal


def test_the_loss_falls(trained_run):
    losses = [line["loss"] for line in read_journal(trained_run / "metrics.jsonl")]
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])


@pytest.mark.slow
def test_a_step_that_is_not_a_number_is_skipped_counted_and_told_and_leaves_the_weights_alone(tmp_path):
    line = small_line(tmp_path, **{"length": "5 steps", "evaluate.every": "50 steps"})
    line.poison(from_step=3, until_step=4)
    weights = [line.weights()]
    line.told.watch = lambda step: weights.append(line.weights())
    state = line.train()
    assert (state.step, state.updates, state.skips) == (5, 3, 2)
    assert [equal(one, other) for one, other in itertools.pairwise(weights)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    metrics = line.log("metrics")
    assert [each["skipped"] for each in metrics] == [False, False, True, True, False]
    assert [each["updates"] for each in metrics] == [1, 2, 2, 2, 3]
    assert metrics[2]["objective"] == metrics[3]["grad_norm"] == "nan"
    told = [(each["code"], each["severity"], each["step"]) for each in line.log("findings")]
    refused = [each for each in told if each[0] == "S901"]
    assert refused == [("S901", "warning", 3), ("S901", "warning", 4)]
    assert "step 3 was skipped" in line.told.findings[0].message


@pytest.mark.slow
def test_skipped_steps_leave_the_moments_alone(tmp_path):
    line = small_line(tmp_path, **{"length": "4 steps", "evaluate.every": "50 steps"})
    line.poison(from_step=2, until_step=4)
    moments = []
    line.told.watch = lambda step: moments.append(snapshot(line.parts.stepper.optimizer.state_tensors()))
    state = line.train()
    assert (state.updates, state.skips) == (1, 3)
    assert moments[0]
    assert all(equal(moments[0], later) for later in moments[1:])


@pytest.mark.slow
def test_the_run_ends_when_patience_does_and_its_best_checkpoint_is_kept(tmp_path):
    changes = {
        "length": "100 steps",
        "step.optimizer.learning_rate": 3.0,
        "evaluate": {"every": "2 steps", "patience": 3, "metrics": [], "best": {"metric": "loss"}},
        "checkpoint": {"every": "1 steps", "keep": 1},
    }
    line = small_line(tmp_path, **changes)
    state = line.train()
    # The rate is so high that the loss only rises.
    assert (state.step, state.best["step"], state.best["since"]) == (8, 2, 3)
    assert line.saved_steps() == [1, 2, 8]  # the first is the one to go back to, as long as none is healthy


@pytest.mark.quick("7 steps-<lambda>", "0.01 minutes-<lambda>")
@pytest.mark.parametrize(
    ("length", "measure"),
    [
        ("1500 tokens", lambda state: state["target_tokens"] / 1500),
        ("1.5 epochs", lambda state: state["position"] / 300),
        ("0.01 minutes", lambda state: state["seconds"] / 0.6),
        ("7 steps", lambda state: state["step"] / 7),
    ],
)
def test_the_run_ends_with_the_first_step_that_reaches_its_length(tmp_path, length, measure):
    changes = {"length": length, "step.schedule.warmup": "2 steps", "evaluate.every": "50 epochs"}
    line = small_line(tmp_path, **changes, **{"checkpoint.every": "1 steps", "checkpoint.keep": 500})
    last = line.train()
    states = [line.recorder.store.at(step).load_state() for step in line.saved_steps()]
    shares = [measure({key: getattr(each, key) for key in each.__slots__}) for each in states]
    assert states[-1] == last
    assert shares[-1] >= 1
    assert all(share < 1 for share in shares[:-1])
    assert line.told.shares[-1] == 1


@pytest.mark.slow
def test_the_rate_of_a_run_in_epochs_follows_its_schedule_down_to_zero(tmp_path):
    changes = {"length": "8 epochs", "step.schedule.warmup": "1 epochs", "evaluate.every": "50 epochs"}
    line = small_line(tmp_path, **changes)
    line.train()
    rates = [each["learning_rate"] for each in line.log("metrics")]
    assert max(rates) == pytest.approx(1e-2, rel=0.2)
    assert rates[-1] < 0.1 * max(rates)


@pytest.mark.slow
def test_the_best_evaluation_is_saved_even_where_no_checkpoint_is_due(tmp_path):
    line = small_line(
        tmp_path, **{"length": "16 steps", "evaluate.every": "8 steps", "checkpoint.every": "100 steps"}
    )
    line.told.watch = lambda step: step == 9 and setattr(line.parts.stepper, "objective", broken)

    def broken(pack):
        raise KeyboardInterrupt  # ends the run at once, so that no last checkpoint helps

    with pytest.raises(KeyboardInterrupt):
        line.train()
    assert line.saved_steps() == [8]
    assert line.recorder.store.at(8).load_state().best["step"] == 8


@pytest.mark.slow
def test_asked_to_stop_it_ends_after_the_step_at_hand_with_a_checkpoint_and_no_evaluation(tmp_path):
    line = small_line(tmp_path, **{"evaluate.every": "50 steps", "checkpoint.every": "50 steps"})
    line.told.watch = lambda step: step == 6 and setattr(line.recorder, "must_stop", True)
    state = line.train()
    assert state.step == 6
    assert line.saved_steps() == [6]
    assert line.log("evaluations") == []


@pytest.mark.slow
def test_order_and_weights_are_the_same_however_many_workers_read(tmp_path):
    found = []
    for workers in (0, 2):
        changes = {"data.workers": workers, "length": "12 steps", "evaluate.every": "50 steps"}
        line = small_line(tmp_path / str(workers), **changes)
        windows = [
            (w.line.tolist(), w.position) for w, _ in itertools.islice(line.parts.stream.batches(0), 12)
        ]
        line.train()
        found.append((windows, line.weights()))
    for windows, weights in found[1:]:
        assert windows == found[0][0]
        assert equal(weights, found[0][1])


def test_going_on_in_the_middle_gives_the_weights_of_never_having_stopped(tmp_path):
    changes = {"length": "8 steps", "evaluate.every": "50 steps", "model.dropout": 0.3}
    whole = small_line(tmp_path / "whole", **changes)
    whole.train()
    halves = small_line(tmp_path / "halves", **changes)
    halves.told.watch = lambda step: setattr(halves.recorder, "must_stop", step == 3)
    state = halves.train()
    assert state.step == 3
    halves.recorder.must_stop = False
    assert halves.train(state).step == 8
    assert equal(whole.weights(), halves.weights())

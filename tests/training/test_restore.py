from tests.training.small_line import equal, small_line, snapshot
from trimtab.training.restore import restore
from trimtab.types import TrainState


def test_everything_is_as_it_was_when_the_checkpoint_was_taken(tmp_path):
    changes = {"length": "16 steps", "evaluate.every": "500 steps", "checkpoint.every": "500 steps"}
    line = small_line(tmp_path / "first", **changes, **{"step.clip": {"kind": "adaptive"}})
    state = line.train()
    moments, window = (
        snapshot(line.parts.stepper.optimizer.state_tensors()),
        line.parts.stepper.gate.to_dict(),
    )
    other = small_line(tmp_path / "second", **changes, **{"step.clip": {"kind": "adaptive"}})
    assert not equal(other.weights(), line.weights())
    assert restore(other.parts, line.recorder.store.latest()) == state != TrainState()
    assert equal(other.weights(), line.weights())
    assert equal(snapshot(other.parts.stepper.optimizer.state_tensors()), moments)
    assert other.parts.stepper.gate.to_dict() == window
    assert len(window["losses"]) == 16
    assert other.parts.stepper.clip.to_dict() == line.parts.stepper.clip.to_dict()
    assert other.parts.ledger.to_dict() == line.parts.ledger.to_dict()


def test_a_window_of_the_guard_that_is_there_already_is_forgotten(tmp_path):
    line = small_line(tmp_path, **{"length": "3 steps", "evaluate.every": "500 steps"})
    line.train()
    checkpoint = line.recorder.store.latest()
    line.train(restore(line.parts, checkpoint))
    restore(line.parts, checkpoint)
    assert len(line.parts.stepper.gate.to_dict()["losses"]) == 3

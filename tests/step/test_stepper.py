from dataclasses import replace

import pytest

from tests.small_run import small_parts
from tests.streams import pack_of
from trimtab.step.take_step import take_step
from trimtab.types import TrainState
from trimtab.units import Duration


@pytest.fixture
def stepper(tmp_path):
    """Of the small recipe, which drops a tenth."""
    return small_parts(tmp_path).stepper


def test_dropout_is_a_function_of_the_seed_and_the_step(stepper):
    pack = pack_of([[5, 6, 7, 3]], [[8, 9, 3]])

    def loss(stepper, step):
        stepper.reseed(step)
        return float(stepper.objective(pack).loss)

    assert loss(stepper, 3) == loss(stepper, 3)
    assert len({loss(stepper, step) for step in range(4)}) == 4
    assert loss(replace(stepper, seed=2), 3) != loss(stepper, 3)


def test_where_the_run_is_says_whether_a_step_truncates_and_whether_it_is_left_out(stepper):
    stepper = replace(stepper, truncate_after=Duration.parse("5 steps"))
    guard = {"masked": [[8, 9]]}
    found = []
    for step in range(4, 10):
        stepper.begin(TrainState(step=step, guard=guard))
        found.append((stepper.loss.truncating, stepper.gate.masked))
    assert found == [(False, False), (True, False), (True, False), (True, True), (True, True), (True, False)]


def test_what_a_checkpoint_keeps_of_it_comes_back(stepper):
    pack = pack_of([[5, 6, 7, 3]], [[8, 9, 3]])
    for step in range(3):
        stepper.begin(TrainState(step=step))
        report = stepper.take_step([pack], learning_rate=1e-3)
    saved = stepper.to_dict()
    assert len(saved["gate"]["losses"]) == 3
    assert saved["gate"]["losses"][-1] == pytest.approx(float(report.loss))
    stepper.gate.forget()
    stepper.from_dict(saved)
    assert stepper.to_dict() == saved
    stepper.from_dict({})
    assert stepper.gate.to_dict() == {}


def test_a_step_that_is_recorded_is_taken_by_the_recording(stepper):
    taken = []

    class Graphs:
        def take_step(self, objective, optimizer, batches, **rest):
            taken.append((objective, optimizer, batches, sorted(rest)))
            return take_step(objective, optimizer, batches, **rest)

    stepper.graphs = Graphs()
    stepper.take_step([pack_of([[5, 6, 7, 3]], [[8, 9, 3]])], learning_rate=0.5)
    ((objective, optimizer, _, rest),) = taken
    assert objective is stepper.objective
    assert optimizer is stepper.optimizer
    assert rest == ["clip", "gate", "learning_rate", "scale"]

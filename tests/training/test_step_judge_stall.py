import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.small_line import small_line
from trimtab.data.data_stream import DataStream
from trimtab.training.step_judge import FEWEST, MOST_SECONDS, MOST_STEPS, Stalls


def told(*steps, count=1):
    """Which of these steps, each its seconds and the seconds without a batch, are told of."""
    stalls = Stalls()
    found = [
        stalls.after((number + 1) * count, count=count, seconds=seconds, waited=waited)
        for number, (seconds, waited) in enumerate(steps)
    ]
    return {number: each.message for number, each in enumerate(found) if each}


QUICK = [(0.3, 0.1)] * FEWEST


def test_a_step_that_stood_still_is_told_with_what_is_usual_and_with_the_wait():
    assert told(*QUICK, (31.0, 0.0), (0.3, 0.1)) == {
        FEWEST: f"step {FEWEST + 1} took 31 s, where 0.3 s is usual; for 0 s of that it waited for data"
    }
    assert "for 30 s of that it waited for data" in told(*QUICK, (31.0, 30.0))[FEWEST]


def test_ten_steps_that_are_looked_at_together_are_told_by_what_is_more_than_usual():
    ten = [(25.0, 0.0)] * FEWEST
    assert told(*ten, (49.0, 0.0), count=10) == {}
    assert told(*ten, (56.0, 0.0), count=10) == {
        FEWEST: "steps 51 to 60 took 56 s, where 25 s is usual; for 0 s of that it waited for data"
    }


def test_first_steps_that_compile_are_not_told_of_and_a_first_batch_that_does_not_come_is():
    assert told((300.0, 1.0), *QUICK) == {}
    assert list(told((31.0, 30.5), *QUICK)) == [0]


def test_every_stall_is_told_though_there_were_others():
    assert list(told(*QUICK, *[(40.0, 0.0), (0.3, 0.0)] * 3)) == [FEWEST, FEWEST + 2, FEWEST + 4]


@given(st.floats(0.01, 500), st.lists(st.floats(0.5, 5), min_size=20, max_size=60))
def test_steps_of_any_length_that_differ_by_a_few_times_are_never_told_of(seconds, times):
    first = [(seconds, 0.0)] * FEWEST
    steps = [(seconds * each, 0.0) for each in times]
    assert told(*first, *steps) == {}
    slower = seconds + 1.01 * max(MOST_SECONDS, MOST_STEPS * seconds)
    assert list(told(*first, (slower, 0.0))) == [FEWEST]


@pytest.mark.quick("the step")
@pytest.mark.parametrize("where", ["the batch", "the step"])
def test_a_run_that_stood_still_says_so_once_and_ends_as_ever(tmp_path, monkeypatch, where):
    line, ahead = small_line(tmp_path, **{"length": "14 steps", "evaluate.every": "14 steps"}), [0.0]
    clock = time.perf_counter
    monkeypatch.setattr("trimtab.training.stopwatch.time.perf_counter", lambda: clock() + ahead[0])

    def pause():
        ahead[0] = 60.0 if len(line.told.steps) == 11 else ahead[0]

    def batches(stream, position, *, step=0):
        for batch in healthy_batches(stream, position, step=step):
            if where == "the batch":
                pause()
            yield batch

    def objective(pack):
        if where == "the step":
            pause()
        return healthy_objective(pack)

    healthy_batches, healthy_objective = DataStream.batches, line.parts.stepper.objective
    monkeypatch.setattr(DataStream, "batches", batches)
    line.parts.stepper.objective = objective
    assert line.train().step == 14
    (stalled,) = (each for each in line.log("findings") if each["code"] == "P902")
    waited = 60 if where == "the batch" else 0
    assert stalled["step"] == 12
    assert stalled["message"].startswith("step 12 took 6")
    assert stalled["message"].endswith(f"for {waited} s of that it waited for data")

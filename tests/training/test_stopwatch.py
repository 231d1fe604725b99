import pytest

from trimtab.training import stopwatch
from trimtab.training.stopwatch import Stopwatch


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: now[0])
    return now


def test_splits_and_laps_divide_the_time_of_training(clock):
    watch = Stopwatch()
    clock[0] += 2
    assert watch.split() == 2
    clock[0] += 3
    asked = watch.now
    clock[0] += 0.5
    lap = watch.lap(asked=asked)
    assert (lap.whole, lap.untold, lap.device, lap.waited) == (5.5, 3.5, 0.5, 0.0)
    clock[0] += 1
    assert watch.split() == 1


def test_the_wait_for_each_batch_is_added_up_until_the_lap_ends(clock):
    def slow():
        for number in range(3):
            clock[0] += 0.25
            yield number

    watch = Stopwatch()
    found = []
    for batch in watch.timed(slow()):
        found.append(batch)
        clock[0] += 1  # the step itself
    assert found == [0, 1, 2]
    assert watch.lap(asked=watch.now).waited == 0.75
    assert watch.lap(asked=watch.now).waited == 0


def test_what_lies_before_a_start_does_not_count(clock):
    watch = Stopwatch()
    clock[0] += 70
    watch.start()
    clock[0] += 1
    assert watch.lap(asked=watch.now).whole == 1

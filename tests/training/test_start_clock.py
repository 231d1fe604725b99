import re
import subprocess
import sys
import time

import pytest

from trimtab.training import start_clock
from trimtab.training.start_clock import StartClock, age_of_process, mark_command_start, take_start_clock


def test_it_says_each_stage_and_their_sum(monkeypatch):
    times = iter([11.5, 13.5, 14.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(times))
    clock = StartClock(mark=10.0, seconds={"imports": 2.0})
    for stage in ("data", "checks", "data"):
        clock.end(stage)
    assert str(clock) == "started in 6.0 s: imports 2.0, data 2.0, checks 2.0"


def test_only_the_start_that_a_command_asks_for_begins_with_the_process(monkeypatch):
    monkeypatch.setattr(start_clock, "age_of_process", lambda: 3.0)
    mark_command_start()
    assert take_start_clock().seconds == {"imports": 3.0}
    assert take_start_clock().seconds == {}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing says when a process began")
def test_the_age_of_a_process_is_the_time_since_it_was_started():
    begun = time.perf_counter()
    look = "import time, trimtab.training.start_clock as c; time.sleep(0.2); print(c.age_of_process())"
    told = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
    assert (
        0.2 <= float(told) + 0.02 <= time.perf_counter() - begun + 0.04
    )  # clocks tick a hundred times a second


def test_where_nothing_says_when_a_process_began_its_computing_counts(monkeypatch):
    monkeypatch.setattr("builtins.open", lambda *_, **__: (_ for _ in ()).throw(FileNotFoundError()))
    assert 0 < age_of_process() <= time.process_time()


def test_the_line_is_one_that_a_log_can_be_searched_for():
    assert re.fullmatch(r"started in \d+\.\d s: data \d+\.\d", str(StartClock(seconds={"data": 1.26})))

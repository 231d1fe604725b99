import os
import subprocess
import sys
import time

import pytest

from trimtab.distributed import watch as watching
from trimtab.distributed.watch import STACKS, Store, Watch, is_running
from trimtab.errors import RankLost


class Memory:
    """A store without processes."""

    def __init__(self):
        self.values = {}

    def set(self, key, value):
        self.values[key] = value.encode()

    def get(self, key):
        return self.values[key]

    def check(self, keys):
        return all(key in self.values for key in keys)


@pytest.fixture
def told():
    return []


@pytest.fixture
def watch(told):
    """Of rank 0 among three of this host; its thread does not run, so a test looks when it wants to."""
    made = Watch(Memory(), rank=0, world_size=3, timeout_seconds=5.0, end=told.append)
    made.places = {rank: ("here", os.getpid()) for rank in range(3)}
    return made


def ended_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_dict_is_a_store():
    assert isinstance(Memory(), Store)


def test_nothing_is_told_while_all_go_on(watch, told):
    with watch.collective():
        watch.look()
    assert told == []
    assert watch.store.values["calls/0"] == b"1"


def test_a_dead_process_of_this_host_ends_the_job_and_every_rank_hears_why(watch, told):
    watch.places[2] = ("here", ended_process())
    watch.look()
    assert told[0].startswith(f"rank 2 (process {watch.places[2][1]}) died on here")
    other = Watch(watch.store, rank=1, world_size=3, timeout_seconds=5.0, end=told.append)
    other.look()
    assert told[1] == told[0] == watch.store.get(STACKS).decode()


def test_an_error_while_another_process_is_gone_is_put_down_to_it(watch):
    own = RuntimeError("a size must be positive")
    assert watch.lost_rank_behind(own) is None
    watch.places[1] = ("here", ended_process())
    assert str(watch.lost_rank_behind(own)).startswith(f"rank 1 (process {watch.places[1][1]}) died on here")


@pytest.mark.parametrize(
    "said",
    [
        "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1",
        "NCCL communicator was aborted on rank 0",
        "Broken pipe",
    ],
)
def test_a_connection_breaks_a_moment_before_the_process_behind_it_is_gone(watch, monkeypatch, said):
    looks = []

    def dead():
        looks.append(1)
        return [1] if len(looks) > 2 else []

    monkeypatch.setattr(watch, "dead", dead)
    assert str(watch.lost_rank_behind(RuntimeError(said))).startswith(
        f"rank 1 (process {watch.places[1][1]}) died"
    )


def test_a_process_of_another_host_is_not_looked_for_here(watch, told):
    watch.places[2] = ("there", ended_process())
    watch.look()
    assert told == []


def test_a_zombie_is_dead():
    process = subprocess.Popen([sys.executable, "-c", ""])
    until = time.monotonic() + 20
    while is_running(process.pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_running(process.pid)
    process.wait()
    assert is_running(os.getpid())


def test_a_rank_that_does_not_come_is_named_after_the_timeout_and_no_other(watch, told):
    watch.store.set("calls/1", "1")
    with watch.collective():
        watch.since -= 4
        watch.look()
        assert told == []
        watch.since -= 2
        watch.look()
    assert told[0].startswith("rank 2 (process")
    assert "hangs" in told[0]
    assert "rank 1" not in told[0]


def test_work_that_may_take_any_time_is_waited_for(watch, told):
    with watch.collective(patient=True):
        watch.since -= 1000
        watch.look()
    assert told == []


def test_a_rank_that_works_alone_for_long_blames_nobody(watch, told):
    for rank in (1, 2):
        watch.store.set(f"calls/{rank}", "0")
    watch.since -= 1000
    watch.look()
    assert told == []


def test_nothing_is_told_once_it_is_closed(watch, told):
    watch.places[2] = ("here", ended_process())
    watch.close()
    watch.look()
    assert told == []


def test_a_broken_connection_is_blamed_on_the_rank_that_failed_and_not_on_one_that_left_because_of_it(watch):
    watch.failed_by = Watch(watch.store, rank=1, world_size=3, timeout_seconds=5.0)
    Watch(watch.store, rank=2, world_size=3, timeout_seconds=5.0).failed("rank 1 died", code=99)
    watch.failed_by.failed("no such file: dev.en", code=2)
    with pytest.raises(RankLost) as lost, watch.collective():
        raise RuntimeError("Connection closed by peer")
    assert str(lost.value) == "rank 1 (here) has stopped: no such file: dev.en"


def test_a_broken_connection_that_nobody_explains_is_told_as_it_came(watch, monkeypatch):
    monkeypatch.setattr(watching, "LOOK_FOR_SECONDS", 0.0)
    with pytest.raises(RankLost, match="Connection reset") as lost, watch.collective():
        raise RuntimeError("Connection reset\nframe #1")
    assert "frame" not in str(lost.value)


def test_other_errors_pass(watch):
    with pytest.raises(KeyError), watch.collective():
        raise KeyError("x")


def test_what_a_rank_failed_with_is_found_by_the_others(watch):
    assert watch.failure_of(1) is None
    watch.failed("a message", code=75)
    assert watch.failure_of(0) == (75, "a message")

import itertools
import logging
import multiprocessing
import os
import pickle
import signal

import numpy as np
import pytest

from tests.data.fake_feed import DeadlyPipeline, FakePipeline, fake_feed
from tests.data.silence import LONG_SECONDS, end_soon
from trimtab.data import worker_pool as crews
from trimtab.data.loader import chunks
from trimtab.data.worker_pool import POSITIONS_PER_CHUNK, WorkerPool, make_chunk
from trimtab.errors import RunFailed

NUM_CHUNKS = 40
"""More than lies ready in pipes and outboxes."""
PIPE_BYTES = 2**16
"""What a pipe holds, if nobody makes it larger."""


def ids(chunk):
    return chunk.source.values.tolist(), chunk.target.values.tolist(), chunk.position.tolist()


def assert_undisturbed(found, feed):
    assert [ids(chunk) for chunk in found] == [ids(make_chunk(feed, number)) for number in range(len(found))]


@pytest.mark.quick("2")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_is_killed_even_in_the_middle_of_what_it_sends_is_replaced(workers, caplog):
    feed = fake_feed(pipeline=FakePipeline(every=5, needs_random=True))
    pool = WorkerPool(feed, first=0, workers=workers)
    found = [pool.receive()]
    victim = multiprocessing.active_children()[0]
    # A pipe holds less than a chunk, so a worker of whose chunk something has come stands within it.
    assert len(pickle.dumps(make_chunk(feed, 1))) > PIPE_BYTES
    assert all(pipe.poll(LONG_SECONDS) for pipe in pool._pipes)
    os.kill(victim.pid, signal.SIGKILL)
    found += [pool.receive() for _ in range(NUM_CHUNKS)]
    pool.shut_down()
    assert_undisturbed(found, feed)
    assert [record.message for record in caplog.records] == [
        f"data.workers: a worker (process {victim.pid}) was killed by SIGKILL; another one makes its chunk again"
    ]
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_a_worker_that_is_stopped_is_ended_and_replaced(monkeypatch, caplog):
    end_soon(monkeypatch, seconds=3.0)
    feed = fake_feed()
    stream = chunks(feed, from_position=0, workers=2)
    found = [next(stream), next(stream)]
    victim = multiprocessing.active_children()[0]
    os.kill(victim.pid, signal.SIGSTOP)
    found += itertools.islice(stream, NUM_CHUNKS)
    stream.close()
    assert_undisturbed(found, feed)
    assert f"(process {victim.pid}) gave nothing for 3 seconds" in caplog.text
    assert not multiprocessing.active_children()


def test_every_worker_may_be_lost_again_and_again(caplog):
    feed, pool = fake_feed(), None
    pool = WorkerPool(feed, first=0, workers=2)
    found = []
    for turn in range(8):
        found.append(pool.receive())
        if turn % 2:
            for victim in multiprocessing.active_children():
                victim.kill()
    pool.shut_down()
    assert_undisturbed(found, feed)
    assert caplog.text.count("SIGKILL") >= 4


@pytest.mark.parametrize(
    ("death", "told"),
    [
        ("killed", "was killed by SIGKILL"),
        ("ends", "stopped with the exit code 0"),
        pytest.param("hangs", "gave nothing for 2 seconds", marks=pytest.mark.slow),
    ],
)
def test_a_line_that_ends_three_workers_ends_the_run_and_is_named(death, told, monkeypatch, caplog):
    feed = fake_feed(lengths=(5000, 17), pipeline=DeadlyPipeline("1244", death))
    places = feed.mixture.at(np.arange(6000))
    position = int(np.flatnonzero((places.corpus == 0) & (places.line == 1234))[0])
    if death == "hangs":
        # Each is to be ended, so none can be ended too soon. Looking for the line is a matter of seconds then, and of
        # another test.
        monkeypatch.setattr(crews, "SILENT_SECONDS", 2.0)
        monkeypatch.setattr(crews, "bisect_failure", lambda feed, *, start, count: position)
    stream = chunks(feed, from_position=position, workers=1)
    with pytest.raises(RunFailed) as caught:
        next(stream)
    assert f"3 workers in turn did not get through chunk {position // POSITIONS_PER_CHUNK} " in str(
        caught.value
    )
    assert str(caught.value).count(told) == 3
    assert "a0, line 1235, alone does it" in str(caught.value)
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 2
    assert not multiprocessing.active_children()


def test_where_no_line_is_to_blame_the_corpora_of_the_chunk_are_named(monkeypatch):
    monkeypatch.setattr(crews, "bisect_failure", lambda feed, *, start, count: None)
    error = crews._given_up(fake_feed(), 0, ["was killed by SIGKILL"] * 3)
    assert "no line does it alone; the chunk has " in str(error)
    assert " of a0 (lines " in str(error)
    assert " of b1 (lines " in str(error)
    assert "--resume" in str(error)

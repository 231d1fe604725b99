import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.data.fake_feed import FakePipeline, fake_feed
from trimtab.config.data import DataConfig
from trimtab.data.loader import POSITIONS_PER_CHUNK, chunks, resolve_workers
from trimtab.errors import InputError


def plain(chunk):
    return (
        chunk.source.values.tolist(),
        chunk.target.values.tolist(),
        chunk.position.tolist(),
        chunk.line.tolist(),
        chunk.corpus.tolist(),
        chunk.dropped,
    )


def taken(feed, *, workers, count=7, from_position=3000):
    stream = chunks(feed, from_position=from_position, workers=workers)
    found = list(itertools.islice(stream, count))
    stream.close()
    return found


def wait_until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.mark.quick("3")
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_change_nothing(workers):
    feed = fake_feed(pipeline=FakePipeline(every=5, needs_random=True))
    alone = taken(feed, workers=0)
    assert [plain(chunk) for chunk in taken(feed, workers=workers)] == [plain(chunk) for chunk in alone]


def test_chunks_begin_at_multiples_of_one_size_wherever_a_run_starts():
    feed = fake_feed()
    chunk = taken(feed, workers=0, count=1, from_position=2 * POSITIONS_PER_CHUNK + 700)[0]
    assert chunk.position.tolist() == list(range(2 * POSITIONS_PER_CHUNK, 3 * POSITIONS_PER_CHUNK))
    following = taken(feed, workers=0, count=2, from_position=POSITIONS_PER_CHUNK + 1)[1]
    assert plain(following) == plain(chunk)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_bad_line_raises_the_same_error_when_its_chunk_is_reached_and_not_before(workers):
    feed = fake_feed(lengths=(5000, 1), bad_line=4321)
    places = feed.mixture.at(np.arange(5001))
    reached = int(np.flatnonzero((places.corpus == 0) & (places.line == 4321))[0]) // POSITIONS_PER_CHUNK
    stream = chunks(feed, from_position=0, workers=workers)
    assert len(list(itertools.islice(stream, reached))) == reached
    with pytest.raises(InputError) as caught:
        next(stream)
    assert str(caught.value) == "a0.en: not UTF-8   (a0.en:4322)\n  got     byte 0xff"
    assert caught.value.problems[0].where == "a0.en:4322"
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_workers_leave_ctrl_c_and_sigterm_to_the_training_process():
    feed = fake_feed()
    stream = chunks(feed, from_position=0, workers=2)
    found = [next(stream), next(stream)]  # one of each, so both have come up
    for worker in multiprocessing.active_children():
        os.kill(worker.pid, signal.SIGINT)
        os.kill(worker.pid, signal.SIGTERM)
    found += itertools.islice(stream, 59)
    stream.close()
    alone = taken(feed, workers=0, count=61, from_position=0)
    assert [plain(chunk) for chunk in found] == [plain(chunk) for chunk in alone]
    assert not multiprocessing.active_children()


SCRIPT = """
import multiprocessing, sys
from tests.data.fake_feed import fake_feed
from trimtab.data.loader import chunks
stream = chunks(fake_feed(), from_position=0, workers=2)
next(stream)
print(*(worker.pid for worker in multiprocessing.active_children()), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def started(tmp_path):
    """Runs the script above, which has no `if __name__ == "__main__"`, in a group of processes of its own."""
    processes = []
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def start():
        process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])},
        )
        processes.append(process)
        workers = [int(word) for word in process.stdout.readline().split()]
        until = time.monotonic() + 30
        while not all(map(ignores_ctrl_c, workers)) and time.monotonic() < until:
            time.sleep(0.01)  # the second may still be starting
        return process, workers

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def ignores_ctrl_c(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(mask, 16) >> (signal.SIGINT - 1) & 1)


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
class TestAScriptOfItsOwn:
    @pytest.mark.slow
    def test_ctrl_c_shows_no_traceback_but_the_script_s_own_and_ends_the_workers_too(self, started):
        process, workers = started()
        assert len(workers) == 2
        os.killpg(process.pid, signal.SIGINT)
        message = process.communicate(timeout=30)[1]
        assert message.count("Traceback") == 1
        assert message.strip().endswith("KeyboardInterrupt")
        assert wait_until(lambda: all(map(is_gone, workers)))

    @pytest.mark.slow
    def test_workers_of_a_killed_script_do_not_stay_behind(self, started):
        process, workers = started()
        process.kill()
        assert len(workers) == 2
        assert wait_until(lambda: all(map(is_gone, workers)))


@pytest.mark.parametrize(
    ("cores", "gpu", "workers"), [(1, True, 0), (2, False, 0), (2, True, 1), (4, False, 2), (64, True, 8)]
)
def test_auto_takes_half_of_the_cores_and_leaves_small_machines_to_the_model(
    monkeypatch, cores, gpu, workers
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(cores), raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    config = DataConfig.model_validate({"train": [{"source": "a", "target": "b"}]})
    assert resolve_workers(config) == workers
    assert resolve_workers(config.model_copy(update={"workers": 7})) == 7

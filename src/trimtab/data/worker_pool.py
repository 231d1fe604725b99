"""The worker processes that make chunks: one pipe each; a worker that dies or hangs is replaced."""

import gc
import itertools
import logging
import math
import os
import queue
import signal
import threading
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import numpy as np
import torch

from trimtab.data.bisect_failure import bisect_failure
from trimtab.data.block_signals import block_signals
from trimtab.data.chunk import Chunk, Feed, MakesChunks
from trimtab.data.worker_process import context, started
from trimtab.errors import RunFailed, TrimtabError

POSITIONS_PER_CHUNK = Feed.positions_per_chunk
"""Of pairs. Chunk k holds the positions from k to k + 1 times this, whatever position a run starts from."""
SILENT_SECONDS = 120.0
"""A worker that gives nothing for so long is ended; a chunk takes a fraction of a second."""
MOST_DEATHS = 3
"""So many processes may end on one chunk before the run does."""

_CHUNKS_AHEAD = 16
_FAREWELL_SECONDS = 2.0
_LOOK_EVERY_SECONDS = 1.0


def make_chunk(feed: MakesChunks, number: int) -> Chunk:
    """Chunk `number` of the stream; a function of its arguments alone."""
    return feed.chunk(start=number * feed.positions_per_chunk, count=feed.positions_per_chunk)


class WorkerPool:
    """Worker i makes chunk first + i and every `workers`-th after it; they are taken in turns, so in order.

    A pipe for each, not a queue for all as in torch's DataLoader: a worker killed while it writes into a shared queue
    takes its lock along, and the training process waits for ever. Here its pipe ends, at once. A chunk is a function of
    its number, so another process makes it again, and nothing of the order changes.
    """

    def __init__(self, feed: MakesChunks, *, first: int, workers: int) -> None:
        self._feed, self._first, self._workers = feed, first, workers
        self._next = first
        self._pipes: list[Connection] = []
        self._processes: list[BaseProcess] = []
        # Also called when the interpreter ends, before multiprocessing waits for its children.
        self.shut_down = weakref.finalize(self, _shut_down, self._pipes, self._processes)
        for number in range(workers):
            with block_signals():  # no worker that nobody would dismiss
                pipe, process = self._spawned(first + number)
                self._pipes.append(pipe)
                self._processes.append(process)

    def receive(self) -> Chunk:
        """The next chunk. Raises what stopped its worker from making it, and RunFailed if `MOST_DEATHS` processes
        died of it or fell silent."""
        chunk = self._next
        worker = (chunk - self._first) % self._workers
        ends: list[str] = []
        while True:
            try:
                with _ended_when_silent(self._processes[worker]) as silent:
                    message = self._pipes[worker].recv()
                break
            except (EOFError, OSError):
                ends.append(_end_of(self._processes[worker], silent=silent.is_set()))
            self._pipes[worker].close()
            if len(ends) == MOST_DEATHS:
                raise _given_up(self._feed, chunk, ends)
            _logger().warning("data.workers: a worker %s; another one makes its chunk again", ends[-1])
            with block_signals():
                self._pipes[worker], self._processes[worker] = self._spawned(chunk)
        if isinstance(message, TrimtabError):
            raise message
        self._next += 1
        return message

    def _spawned(self, chunk: int) -> tuple[Connection, BaseProcess]:
        """A worker that begins with a chunk."""
        receiver, sender = context().Pipe(duplex=False)
        name = f"data worker {(chunk - self._first) % self._workers}"
        with sender:
            return receiver, started(_work, self._feed, chunk, self._workers, sender, name=name)


def _logger() -> logging.Logger:
    return logging.getLogger("trimtab")


@contextmanager
def _ended_when_silent(process: BaseProcess) -> Iterator[threading.Event]:
    """Kills the process where the body takes longer than `SILENT_SECONDS`, and sets the event; its pipe ends then.

    From a thread, since a process may also stop in the middle of what it sends. Seconds are counted as this process
    lives through them: a pause of all, as by a closed laptop, is none of the worker's.
    """
    done, silent = threading.Event(), threading.Event()

    def watch() -> None:
        for _ in range(math.ceil(SILENT_SECONDS / _LOOK_EVERY_SECONDS)):
            if done.wait(_LOOK_EVERY_SECONDS):
                return
        silent.set()
        process.kill()

    watcher = threading.Thread(target=watch, daemon=True, name="data watch")
    watcher.start()
    try:
        yield silent
    finally:
        done.set()
        watcher.join()


def _end_of(process: BaseProcess, *, silent: bool) -> str:
    """How a process came to its end, after "a worker"."""
    process.join(_FAREWELL_SECONDS)
    if process.exitcode is None:  # its pipe has ended, so nothing more can come of it
        process.kill()
        process.join()
    code = process.exitcode or 0
    if silent:
        return f"(process {process.pid}) gave nothing for {SILENT_SECONDS:.0f} seconds"
    if code < 0:
        return f"(process {process.pid}) was killed by {signal.Signals(-code).name}"
    return f"(process {process.pid}) stopped with the exit code {code}"


def _given_up(feed: MakesChunks, chunk: int, ends: Sequence[str]) -> RunFailed:
    start = chunk * feed.positions_per_chunk
    found = bisect_failure(feed, start=start, count=feed.positions_per_chunk)
    where = _one_line(feed, found) if found is not None else _many_lines(feed, start)
    return RunFailed(
        f"data.workers: {len(ends)} workers in turn did not get through chunk {chunk} of the stream\n"
        f"  got     each worker {', then '.join(ends)}\n"
        f"  where   {where}\n"
        "  why     a line that crashes a transform or the tokenizer, or a machine without memory\n"
        "  fix     look at what is named, take it out where it is to blame, and start again; where it is not, continue "
        "from\n          the last checkpoint with --resume (data.workers: 0 shows what a worker cannot)"
    )


def _one_line(feed: MakesChunks, position: int) -> str:
    places = feed.mixture.at(np.array([position]))
    return f"{feed.corpora[int(places.corpus[0])].name}, line {int(places.line[0]) + 1}, alone does it"


def _many_lines(feed: MakesChunks, start: int) -> str:
    """Of which corpora a chunk has lines, and a few of them."""
    places = feed.mixture.at(np.arange(start, start + feed.positions_per_chunk))
    told = []
    for corpus, count in sorted(Counter(places.corpus.tolist()).items()):
        lines = places.line[places.corpus == corpus][:3] + 1
        told.append(
            f"{count:,} of {feed.corpora[corpus].name} (lines {', '.join(map(str, lines.tolist()))} ...)"
        )
    return f"no line does it alone; the chunk has {'; '.join(told)}"


def _shut_down(pipes: list[Connection], processes: list[BaseProcess]) -> None:
    for pipe in pipes:
        pipe.close()
    for process in processes:
        process.join(_FAREWELL_SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()


def _work(feed: MakesChunks, first: int, stride: int, pipe: Connection) -> None:
    """What a worker does until the training process closes its end of the pipe."""
    torch.set_num_threads(1)
    gc.freeze()  # libraries and tables stay: no need to look through them for what can go
    outbox: queue.Queue[Chunk | TrimtabError] = queue.Queue(_CHUNKS_AHEAD)
    sender = threading.Thread(target=_send, args=(outbox, pipe), daemon=True)
    sender.start()
    for number in itertools.count(first, stride):
        try:
            outbox.put(make_chunk(feed, number))
        except TrimtabError as error:
            outbox.put(error)
            break
    sender.join()


def _send(outbox: "queue.Queue[Chunk | TrimtabError]", pipe: Connection) -> None:
    while True:
        message = outbox.get()
        try:
            pipe.send(message)
        except OSError:
            # The training process is gone, or wants no more.
            os._exit(0)
        if isinstance(message, TrimtabError):
            return

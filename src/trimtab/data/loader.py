"""Chunks of the stream in their order, made by other processes or by this one; the same either way."""

import itertools
import multiprocessing
import os
import queue
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import ModuleType

import torch

from trimtab.config.data import DataConfig
from trimtab.data.chunk import Chunk, Feed, encode_chunk
from trimtab.errors import RunFailed, TrimtabError

POSITIONS_PER_CHUNK = 1024
"""Chunk k holds the positions from k to k + 1 times this, whatever position a run starts from."""

_MOST_AUTO_WORKERS = 4
_CHUNKS_AHEAD = 16
_FAREWELL_SECONDS = 2.0


def chunks(feed: Feed, *, from_position: int, workers: int) -> Iterator[Chunk]:
    """The endless stream in chunks, the first one being that which holds `from_position`.

    Raises the InputError that a line caused when its chunk is reached, and RunFailed where a worker was killed.
    """
    first = from_position // POSITIONS_PER_CHUNK
    if workers == 0:
        return (_chunk(feed, number) for number in itertools.count(first))
    return _from_workers(feed, first=first, workers=workers)


def resolve_workers(config: DataConfig) -> int:
    """How many processes `data.workers` asks for.

    `auto` is half of the cores, at most four, which feed several hundred thousand tokens a second each second. On one
    or two cores it is none where the model computes on them too, for a worker would only take turns with it, and one
    where a GPU computes.
    """
    if config.workers != "auto":
        return config.workers
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores <= 2:
        return int(cores == 2 and torch.cuda.is_available())
    return min(_MOST_AUTO_WORKERS, cores // 2)


def _chunk(feed: Feed, number: int) -> Chunk:
    return encode_chunk(feed, start=number * POSITIONS_PER_CHUNK, count=POSITIONS_PER_CHUNK)


def _from_workers(feed: Feed, *, first: int, workers: int) -> Iterator[Chunk]:
    """Worker i makes chunk first + i and every `workers`-th after it; they are taken in turns, so in order."""
    crew = _Crew(feed, first=first, workers=workers)
    try:
        for turn in itertools.count():
            message = crew.receive(turn % workers)
            if isinstance(message, TrimtabError):
                raise message
            yield message
    finally:
        crew.dismiss()


class _Crew:
    """The processes and the pipe that each has of its own.

    A pipe for each, not a queue for all as in torch's DataLoader: a worker killed while it writes into a shared queue
    takes its lock along, and the training process waits for ever. Here its pipe ends, at once.
    """

    def __init__(self, feed: Feed, *, first: int, workers: int) -> None:
        context = _context()
        self._pipes: list[Connection] = []
        self._processes: list[BaseProcess] = []
        # Also called when the interpreter ends, before multiprocessing waits for its children.
        self.dismiss = weakref.finalize(self, _dismiss, self._pipes, self._processes)
        for number in range(workers):
            receiver, sender = context.Pipe(duplex=False)
            self._pipes.append(receiver)
            process = context.Process(
                target=_work,
                args=(feed, first + number, workers, sender),
                daemon=True,
                name=f"data worker {number}",
            )
            with sender, _script_out_of_sight():
                _start(process)
            self._processes.append(process)

    def receive(self, worker: int) -> Chunk | TrimtabError:
        """The worker's next chunk, or why there is none."""
        try:
            return self._pipes[worker].recv()
        except (EOFError, OSError):
            raise _died(self._processes[worker]) from None


def _dismiss(pipes: list[Connection], processes: list[BaseProcess]) -> None:
    for pipe in pipes:
        pipe.close()
    for process in processes:
        process.join(_FAREWELL_SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()


def _work(feed: Feed, first: int, stride: int, pipe: Connection) -> None:
    """What a worker does until the training process closes its end of the pipe."""
    # Ctrl-C and SIGTERM reach the whole group of processes. They are for the training process, which may want more
    # chunks before it stops; workers end when it does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    torch.set_num_threads(1)
    outbox: queue.Queue[Chunk | TrimtabError] = queue.Queue(_CHUNKS_AHEAD)
    sender = threading.Thread(target=_send, args=(outbox, pipe), daemon=True)
    sender.start()
    for number in itertools.count(first, stride):
        try:
            outbox.put(_chunk(feed, number))
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


def _context() -> multiprocessing.context.BaseContext:
    """Never fork from here: this process may have threads and a CUDA context, which do not survive it."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _start(process: BaseProcess) -> None:
    try:
        process.start()
    except Exception as error:
        raise RunFailed(
            f"data.workers: a worker could not be started: {error}\n"
            "  fix     set data.workers to 0; what is defined in the script itself cannot be sent to workers,\n"
            "          so put it into a module"
        ) from error


@contextmanager
def _script_out_of_sight() -> Iterator[None]:
    """Workers need nothing of the script that runs; on its sight they would run it again, up to where it calls us.

    It is why multiprocessing wants `if __name__ == "__main__":` in every script, and fails without.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _died(process: BaseProcess) -> RunFailed:
    process.join(_FAREWELL_SECONDS)
    code = process.exitcode
    killed = code is not None and code < 0
    how = f"was killed by {signal.Signals(-code).name}" if killed else "stopped; what it printed says why"
    why = "often the machine has no memory left" if killed else f"its exit code is {code}"
    return RunFailed(
        f"data.workers: worker process {process.pid} {how}\n"
        f"  why     {why}\n"
        "  fix     go on from the last checkpoint with --resume; data.workers: 0 reads without other processes"
    )

"""Yields the chunks of the stream in order, from worker processes or from this one, with the same result."""

import itertools
import os
from collections.abc import Iterator

import torch

from trimtab.config.data import DataConfig
from trimtab.data.chunk import Chunk, MakesChunks
from trimtab.data.worker_pool import POSITIONS_PER_CHUNK, WorkerPool, make_chunk
from trimtab.data.worker_process import prepare
from trimtab.world import processes_here

__all__ = ["POSITIONS_PER_CHUNK", "chunks", "prepare_workers", "resolve_workers"]

_MOST_AUTO_WORKERS = 8


def chunks(feed: MakesChunks, *, from_position: int, workers: int) -> Iterator[Chunk]:
    """The endless stream in chunks, the first one being that which holds `from_position`.

    Raises the InputError that a line caused when its chunk is reached, and RunFailed if several workers in turn died
    of a chunk or hung at it; a worker that dies once is replaced, and its chunk made again.
    """
    first = from_position // (feed.positions_per_chunk * feed.parts_per_position)
    if workers == 0:
        return (make_chunk(feed, number) for number in itertools.count(first))
    return _from_workers(feed, first=first, workers=workers)


def prepare_workers(config: DataConfig) -> None:
    """Begins to import what workers need, so that they are there when the first window is asked for."""
    if resolve_workers(config):
        prepare()


def resolve_workers(config: DataConfig) -> int:
    """How many processes `data.workers` asks for.

    `auto` is half of the cores, divided by the processes that a launcher has started on this host, at most eight: with
    transforms and splits drawn again each of them makes some 400,000 tokens a second (`benchmarks/data_pipeline.json`),
    and the base preset takes in 1.5 million on an H200. On one or two cores it is none where the model computes on them
    too, for a worker would only take turns with it, and one where a GPU computes.
    """
    if config.workers != "auto":
        return config.workers
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = max(1, cores // processes_here())  # each rank reads for itself
    if cores <= 2:
        return int(cores == 2 and torch.cuda.is_available())
    return min(_MOST_AUTO_WORKERS, cores // 2)


def _from_workers(feed: MakesChunks, *, first: int, workers: int) -> Iterator[Chunk]:
    pool = WorkerPool(feed, first=first, workers=workers)
    try:
        while True:
            yield pool.receive()
    finally:
        pool.shut_down()

"""Steps of sessions recorded as CUDA graphs, by shape: launched whole, the same kernels in the same order."""

import gc
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

import torch

from trimtab.model.static.shapes import Shape

WARM_UP_STEPS = 2
"""Steps of a shape that are run plainly before it is recorded: in them libraries set themselves up, and a shape that
hardly ever comes is not worth a recording."""
MOST_RECORDINGS = 128
"""The one that was launched longest ago is dropped for a new one."""

OUT_OF_MEMORY = (
    "translation continues kernel by kernel, which is slower: there is no memory to record its steps. ({})"
)


class Recordings:
    """Graphs of steps that read and write memory which stays where it is; `clear` where it does not.

    They share the memory of what lies between: no two of them ever run at the same time, and none gives anything out
    but through memory of the session. One thread at a time.
    """

    def __init__(self, device: torch.device) -> None:
        self.graphs: OrderedDict[Shape, torch.cuda.CUDAGraph] = OrderedDict()
        self.counts: Counter[Shape] = Counter()
        """Plain steps of each shape."""
        self.given_up = False
        """Whether there was once not enough memory."""
        self.stream = torch.cuda.Stream(device)
        """Plain steps run on it too, so that all that libraries keep for each stream is there before a recording."""
        self.pool = torch.cuda.graph_pool_handle()

    def launch(self, shape: Shape, step: Callable[[], None]) -> None:
        """Takes the step: from its recording where there is one, else by calling it."""
        if shape not in self.graphs and self.counts[shape] >= WARM_UP_STEPS and not self.given_up:
            self.record(shape, step)
        if shape in self.graphs:
            self.graphs.move_to_end(shape)
            self.graphs[shape].replay()
            return
        self.counts[shape] += 1
        with on(self.stream):
            step()

    def record(self, shape: Shape, step: Callable[[], None]) -> None:
        """Records the step without taking it; where there is no memory for it, steps stay plain.

        `torch.cuda.graph` would empty the caches of memory before each of many recordings.
        """
        if len(self.graphs) >= MOST_RECORDINGS:
            self.graphs.popitem(last=False)
        graph = torch.cuda.CUDAGraph()
        try:
            with on(self.stream), uncollected():
                # Other threads continue, on streams of their own.
                graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
                try:
                    step()
                except BaseException:
                    with suppress(RuntimeError):
                        graph.capture_end()
                    raise
                graph.capture_end()
        except torch.cuda.OutOfMemoryError as error:
            self.given_up = True
            self.clear()
            warnings.warn(OUT_OF_MEMORY.format(error), stacklevel=2)
            return
        self.graphs[shape] = graph

    def clear(self) -> None:
        """Forgets all recordings, and the pool with them: one that no graph has any more cannot be used again."""
        self.graphs.clear()
        self.pool = torch.cuda.graph_pool_handle()


@contextmanager
def on(stream: "torch.cuda.Stream") -> Generator[None]:
    """Work on another stream in the order of the program: after what was asked for before, before what comes after."""
    outer = torch.cuda.current_stream(stream.device)
    stream.wait_stream(outer)
    try:
        with torch.cuda.stream(stream):
            yield
    finally:
        outer.wait_stream(stream)


@contextmanager
def uncollected() -> Generator[None]:
    """No cyclic garbage meanwhile: graphs and events that died in cycles must not be destroyed during a recording."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

"""A step recorded once as a CUDA graph and launched whole: the same kernels in the same order. `take_step` is its slow
twin."""

import warnings
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from trimtab.flow import LossOutput, Pack, StepReport, Stream
from trimtab.step.clip.protocol import Clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.numbers import Measures, StepNumbers
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.take_step import report_of, step_on_device

WARM_UP_STEPS = 3
"""Steps of a shape that are taken plainly before it is recorded: in them compilers and libraries set themselves up, and
optimizer, clip and gate get their state, which must not be part of a recording."""

NOT_RECORDED = (
    "steps are launched kernel by kernel, which is slower, since one could not be recorded: {}. A recording keeps the "
    "memory of a step for itself; a smaller step.tokens_per_micro_batch needs less. step.cuda_graph: off silences this."
)


@dataclass(frozen=True, slots=True)
class Recording:
    """A graph, and the memory through which it hears and tells."""

    graph: "torch.cuda.CUDAGraph"
    packs: list[Pack]
    numbers: StepNumbers
    measures: Measures


class StepGraphs:
    """Takes steps as `take_step` does. After a few steps of one shape it records the next one and from then on only
    launches the recording, which spares the host the thousand launches of a step.

    A step of another shape (fewer packs) or variant (a loss that truncates from here on) has a recording of its own.
    What is recorded refers to memory: weights, moments and every other state must stay where they are, which
    optimizers, clips, loss scale and gate see to. Random numbers go on as they would, from the generator's seed.
    """

    def __init__(self, *, device: torch.device, variant: Callable[[], Hashable] = lambda: None) -> None:
        self.variant = variant
        """What of the objective the host chooses between steps."""
        self.recordings: dict[Hashable, Recording] = {}
        self.warmed: dict[Hashable, int] = {}
        self.given_up: str | None = None
        """Why steps are not recorded any more."""
        self.stream = torch.cuda.Stream(device)
        """Plain steps run on it too: what autograd remembers of them must not be of another stream."""
        self.pool = torch.cuda.graph_pool_handle()
        """One for all recordings: they never run at the same time."""

    def take_step(
        self,
        objective: Callable[[Pack], LossOutput],
        optimizer: Optimizer,
        packs: Sequence[Pack],
        *,
        clip: Clip,
        scale: LossScale,
        learning_rate: float,
        gate: OutlierGate | None = None,
    ) -> StepReport:
        """See `take_step`."""

        def step(packs: Sequence[Pack], numbers: StepNumbers) -> Measures:
            return step_on_device(objective, optimizer, packs, numbers, clip=clip, scale=scale, gate=gate)

        masked = gate is not None and gate.masked
        shape = (*map(shape_of, packs), gate is None, self.variant())
        with on(self.stream):
            if shape not in self.recordings and self.may_record(shape):
                self.record(shape, step, packs)
                for parameter in optimizer.parameters:
                    # Where a recording broke off, of the packs before: memory that nobody ever wrote.
                    parameter.grad = None
            if (recording := self.recordings.get(shape)) is None:
                numbers = StepNumbers.of(packs, learning_rate=learning_rate, masked=masked)
                measures = step(packs, numbers)
            else:
                for mine, theirs in zip(recording.packs, packs, strict=True):
                    copy_into(mine, theirs)
                recording.numbers.fill(packs, learning_rate=learning_rate, masked=masked)
                recording.graph.replay()
                measures = copied(recording.measures)
        return report_of(measures, packs, learning_rate=learning_rate)

    def may_record(self, shape: Hashable) -> bool:
        """Whether enough plain steps of this shape were taken."""
        self.warmed[shape] = self.warmed.get(shape, 0) + 1
        return self.given_up is None and self.warmed[shape] > WARM_UP_STEPS

    def record(
        self, shape: Hashable, step: Callable[[Sequence[Pack], StepNumbers], Measures], packs: Sequence[Pack]
    ) -> None:
        """Records a step of this shape, without taking it; where that fails, steps stay plain."""
        mine = [clone(pack) for pack in packs]
        numbers = StepNumbers.of(packs, learning_rate=0.0, masked=False)
        graph = torch.cuda.CUDAGraph()
        try:
            # Other threads go on: one pins the next windows, another may write a checkpoint.
            with torch.cuda.graph(
                graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"
            ):
                measures = step(mine, numbers)
        except RuntimeError as error:
            # Out of memory, from whichever library, and what a capture does not allow.
            self.given_up = str(error)
            self.recordings.clear()
            warnings.warn(NOT_RECORDED.format(str(error).partition("\n")[0]), stacklevel=2)
            return
        self.recordings[shape] = Recording(graph, mine, numbers, measures)


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


def shape_of(pack: Pack) -> Hashable:
    """All of a pack that a recording is made for."""
    return tuple(
        (*(tensor.shape for tensor in tensors_of(stream)), stream.longest)
        for stream in (pack.source, pack.target)
    )


def tensors_of(stream: Stream) -> list[Tensor]:
    """The tensors of a stream, in the order of its fields."""
    values = (getattr(stream, each.name) for each in fields(stream))
    return [value for value in values if isinstance(value, Tensor)]


def all_tensors(pack: Pack) -> list[Tensor]:
    """The tensors of a pack."""
    return [*tensors_of(pack.source), *tensors_of(pack.target), pack.labels]


def clone(pack: Pack) -> Pack:
    """A copy in memory of its own."""

    def copy(stream: Stream) -> Stream:
        values = (getattr(stream, each.name) for each in fields(stream))
        return Stream(*(value.clone() if isinstance(value, Tensor) else value for value in values))

    counts = (pack.num_segments, pack.num_targets, pack.num_tokens)
    return Pack(copy(pack.source), copy(pack.target), pack.labels.clone(), *counts)


def copy_into(mine: Pack, theirs: Pack) -> None:
    """Overwrites the tensors of one pack with those of another of the same shape."""
    torch._foreach_copy_(all_tensors(mine), all_tensors(theirs), non_blocking=True)


def copied(measures: Measures) -> Measures:
    """The measures in memory of their own, which the next step leaves alone."""
    return Measures(*(None if each is None else each.clone() for each in measures))

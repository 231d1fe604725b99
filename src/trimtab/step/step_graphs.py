"""A step recorded once as a CUDA graph and launched whole: the same kernels in the same order. `take_step` is its slow
twin."""

import warnings
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import torch

from trimtab.distributed import ONE_RANK, Ranks
from trimtab.step.clip.protocol import Clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.numbers import Counts, Measures, StepNumbers
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.take_step import report_of, step_on_device
from trimtab.types import Batch, LossOutput, StepReport

WARM_UP_STEPS = 3
"""Steps of a shape that are taken plainly before it is recorded: in them compilers and libraries set themselves up, and
optimizer, clip and gate get their state, which must not be part of a recording."""
MOST_RECORDINGS = 64
"""Steps of further shapes are not recorded: each recording holds device memory until the run ends."""
ROOM = 1.1
"""A plain step takes as much memory as a recorded one, or a little more, since its tensors lie in other blocks."""

ROOM_TO_EVALUATE = 0.75
"""Of a device's memory."""

NOT_RECORDED = (
    "steps are launched kernel by kernel, which is slower, since one could not be recorded: {}. A recording keeps the "
    "memory of a step for itself; a smaller step.tokens_per_micro_batch needs less. step.cuda_graph: off silences this."
)


@dataclass(frozen=True, slots=True)
class Recording:
    """A graph, and the memory through which it hears and tells."""

    graph: "torch.cuda.CUDAGraph"
    batches: list[Batch]
    numbers: StepNumbers
    measures: Measures


class StepGraphs:
    """Takes steps as `take_step` does. After a few steps of one shape it records the next one and from then on only
    launches the recording, which spares the host the thousand launches of a step.

    A step of another shape (fewer batches) or variant (a loss that truncates from here on) has a recording of its own.
    What is recorded refers to memory: weights, moments and every other state must stay where they are, which
    optimizers, clips, loss scale and gate see to. Random numbers continue as they would, from the generator's seed.

    With several ranks the sums over them are a part of the recording. Each rank records by itself; a step is launched
    whole where every rank has recorded its own part of it, else plainly by all of them.

    A plain step cannot use the memory of the recordings. Where there is no room for it beside them, they are forgotten
    and recorded anew, so that a run needs the memory of a step once.
    """

    def __init__(
        self,
        *,
        device: torch.device,
        variant: Callable[[], Hashable] = lambda: None,
        ranks: Ranks = ONE_RANK,
    ) -> None:
        self.device = device
        self.ranks = ranks
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
        self.pool_bytes = 0
        """That it has taken from the driver."""

    def take_step(
        self,
        objective: Callable[[Batch], LossOutput],
        optimizer: Optimizer,
        batches: Sequence[Batch],
        *,
        clip: Clip,
        scale: LossScale,
        learning_rate: float,
        gate: OutlierGate | None = None,
    ) -> StepReport:
        """See `take_step`."""

        def step(batches: Sequence[Batch], numbers: StepNumbers) -> Measures:
            return step_on_device(objective, optimizer, batches, numbers, clip=clip, scale=scale, gate=gate)

        masked = gate is not None and gate.masked
        shape = (*(batch.static_key for batch in batches), gate is None, self.variant())
        with on(self.stream):
            if shape not in self.recordings and self.may_record(shape):
                self.record(shape, step, batches)
                for parameter in optimizer.parameters:
                    # Where a recording broke off, of the batches before: memory that nobody ever wrote.
                    parameter.grad = None
            counts, recording = self.agreed(batches, self.recordings.get(shape))
            if recording is None:
                self.make_room(ROOM * self.pool_bytes)
                numbers = StepNumbers.of(
                    counts,
                    learning_rate=learning_rate,
                    masked=masked,
                    device=batches[0].device,
                    ranks=self.ranks,
                )
                measures = step(batches, numbers)
            else:
                for mine, theirs in zip(recording.batches, batches, strict=True):
                    copy_into(mine, theirs)
                recording.numbers.fill(counts, learning_rate=learning_rate, masked=masked)
                recording.graph.replay()
                measures = copied(recording.measures)
        return report_of(measures, counts, learning_rate=learning_rate)

    def agreed(
        self, batches: Sequence[Batch], recording: Recording | None
    ) -> tuple[Counts, Recording | None]:
        """The counts of the step over all ranks, and the recording where each of them has one. Where one rank cannot
        record, none of them does from then on."""
        counts = Counts.of(batches)
        if self.ranks.world_size == 1:
            return counts, recording
        flags = (int(recording is not None), int(self.given_up is not None))
        *sums, recorded, gave_up = self.ranks.sum_ints((*counts, *flags))
        if gave_up and self.given_up is None:
            self.given_up = "another rank could not record a step"
            self.forget()
        return Counts(*sums), recording if recorded == self.ranks.world_size else None

    def may_record(self, shape: Hashable) -> bool:
        """Whether enough plain steps of this shape were taken."""
        self.warmed[shape] = self.warmed.get(shape, 0) + 1
        if len(self.recordings) >= MOST_RECORDINGS:
            return False
        return self.given_up is None and self.warmed[shape] > WARM_UP_STEPS

    def make_room(self, needed: float) -> None:
        """Forgets the recordings where so many bytes are not left beside them; each is recorded again when a step of
        its shape comes."""
        if self.recordings and bytes_left(self.device, pool_bytes=self.pool_bytes) < needed:
            self.close()
            torch.cuda.empty_cache()

    def make_room_to_evaluate(self) -> None:
        """Forgets the recordings unless most of the device is free: how much an evaluation needs is not known, and it
        takes longer than a recording."""
        if self.recordings:
            self.make_room(ROOM_TO_EVALUATE * torch.cuda.mem_get_info(self.device)[1])

    def close(self) -> None:
        """Forgets the recordings when the device is done with them: NCCL waits, in closing its connections, until no
        recording that uses them is left."""
        if self.recordings:
            with suppress(RuntimeError):  # an error of the device has been reported already
                torch.cuda.synchronize(self.device)
            self.forget()

    def forget(self) -> None:
        """Forgets the recordings, and the pool with them: one that no graph has any more cannot be used again."""
        self.recordings.clear()
        self.pool = torch.cuda.graph_pool_handle()
        self.pool_bytes = 0

    def start_over(self) -> None:
        """Forgets the recordings, and takes plain steps before it records again, as in the beginning: other weights are
        trained from here on, whose moments begin."""
        self.close()
        self.warmed.clear()

    def record(
        self,
        shape: Hashable,
        step: Callable[[Sequence[Batch], StepNumbers], Measures],
        batches: Sequence[Batch],
    ) -> None:
        """Records a step of this shape, without taking it; where that fails, steps stay plain."""
        mine = [batch.clone() for batch in batches]
        numbers = StepNumbers.of(
            Counts.of(batches),
            learning_rate=0.0,
            masked=False,
            device=batches[0].device,
            ranks=self.ranks,
        )
        graph = torch.cuda.CUDAGraph()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved(self.device)
        try:
            # Other threads continue: one pins the next windows, another may write a checkpoint.
            with torch.cuda.graph(
                graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"
            ):
                measures = step(mine, numbers)
        except RuntimeError as error:
            # Out of memory, from whichever library, and what a capture does not allow.
            self.given_up = str(error)
            self.forget()
            warnings.warn(NOT_RECORDED.format(str(error).partition("\n")[0]), stacklevel=2)
            return
        self.recordings[shape] = Recording(graph, mine, numbers, measures)
        self.pool_bytes += max(0, torch.cuda.memory_reserved(self.device) - before)


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


def bytes_left(device: torch.device, *, pool_bytes: int) -> int:
    """What plain steps may still take of a device's memory: what is free there, up to the share that the process may
    have, and what PyTorch's allocator has in whole segments outside of the pool of the recordings."""
    free, total = torch.cuda.mem_get_info(device)
    share = int(total * torch.cuda.get_per_process_memory_fraction(device))
    stats = torch.cuda.memory_stats(device)
    reserved = stats["reserved_bytes.all.current"]
    used = stats["active_bytes.all.current"] + stats["inactive_split_bytes.all.current"]
    return min(free, share - reserved) + max(0, reserved - used - pool_bytes)


def copy_into(mine: Batch, theirs: Batch) -> None:
    """Overwrites the tensors of one batch with those of another with the same `static_key`."""
    torch._foreach_copy_(mine.tensors(), theirs.tensors(), non_blocking=True)


def copied(measures: Measures) -> Measures:
    """The measures in memory of their own, which the next step leaves alone."""
    return Measures(*(None if each is None else each.clone() for each in measures))

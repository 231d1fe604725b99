"""The endless global batches of a run, each cut into micro-batches; what a step gets depends on its position alone."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

import torch

from trimtab.data.mixture import Mixture
from trimtab.data.prefetch import prefetched
from trimtab.data.stages import Stages, across_stages
from trimtab.distributed import ONE_RANK, Ranks
from trimtab.distributed.share import deal
from trimtab.types import Batch, GlobalBatch

PREFETCHED = 4
"""Global batches that are read ahead and pinned while a GPU works."""


@dataclass(slots=True)
class DataStream:
    """Reads global batches from any position on; it has no state of its own, so that a run resumes anywhere."""

    open_mixture: Callable[[Mixture, int, int], Generator[GlobalBatch, None, None]]
    """The endless global batches of one mixture, from a position and a step on."""
    stages: Stages
    """Which mixture is read at which step."""
    cut: Callable[[GlobalBatch, int], Sequence[Batch]]
    """The micro-batches of a step's global batch, in host memory."""
    device: torch.device
    ranks: Ranks = ONE_RANK
    """The processes among which the micro-batches of each step are dealt."""
    same_number: bool = False
    """Whether each rank gets as many micro-batches as any other, blank ones where there is no work for it: where steps
    are recorded, or weights are gathered in each pass."""
    in_order: bool = False
    """Whether each rank gets the micro-batches of the same places in every step."""

    def batches(
        self, position: int, *, step: int = 0
    ) -> Generator[tuple[GlobalBatch, Sequence[Batch]], None, None]:
        """The global batches from a step and its position on, each with this rank's micro-batches on the device."""
        made = self.host_batches(position, step=step)
        if self.device.type != "cuda":
            yield from made
            return
        pinned = ((window, [pack.pin() for pack in packs]) for window, packs in made)
        for window, packs in prefetched(pinned, ahead=PREFETCHED):
            yield window, [pack.to(self.device) for pack in packs]

    def host_batches(self, position: int, *, step: int = 0) -> Iterator[tuple[GlobalBatch, Sequence[Batch]]]:
        """The global batches from a step and its position on, each with this rank's micro-batches in host memory."""

        def open_mixture(mixture: Mixture, position: int) -> Generator[GlobalBatch, None, None]:
            return self.open_mixture(mixture, position, step)  # the step that the stage begins with

        for window in across_stages(open_mixture, self.stages, step=step, position=position):
            packs = self.cut(window, step)
            step += 1
            yield window, packs if self.ranks.world_size == 1 else self.share_of(packs)

    def share_of(self, packs: Sequence[Batch]) -> list[Batch]:
        """The micro-batches of this rank."""
        hands = deal(packs, self.ranks.world_size, in_order=self.in_order)
        mine = hands[self.ranks.rank]
        missing = max(map(len, hands)) - len(mine) if self.same_number else 0
        if not missing:
            return mine
        smallest = min(packs, key=lambda pack: pack.num_slots)
        return [*mine, *[smallest.blank()] * missing]

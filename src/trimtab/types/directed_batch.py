"""A micro-batch of a modular model: packs, each of one translation direction."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int
from torch import Tensor

from trimtab.types.packed_batch import PackedBatch


@dataclass(frozen=True, slots=True)
class DirectedBatch:
    """One or more packs with their directions; see `types.Batch`."""

    parts: tuple[tuple[str, PackedBatch], ...]
    """The name of the direction and the pack of each."""
    factors: Float32[Tensor, "components"] | None = None
    """What the gradient of each component is multiplied by, the same in each micro-batch of a step; None for 1."""

    @property
    def leaves_weights_out(self) -> bool:
        """Whether components of other directions get no gradient; see `LeavesWeightsOut`."""
        return True

    @property
    def packs(self) -> tuple[PackedBatch, ...]:
        """The packs without their directions."""
        return tuple(pack for _, pack in self.parts)

    @property
    def labels(self) -> Int[Tensor, "target_tokens"]:
        """What the decoders must predict, in the order of the parts."""
        return torch.cat([pack.labels for pack in self.packs])

    @property
    def num_targets(self) -> int:
        """Target tokens that count in the loss."""
        return sum(pack.num_targets for pack in self.packs)

    @property
    def num_tokens(self) -> int:
        """Real source and target tokens."""
        return sum(pack.num_tokens for pack in self.packs)

    @property
    def num_slots(self) -> int:
        """Slots of all streams, padding included."""
        return sum(pack.num_slots for pack in self.packs)

    @property
    def num_segments(self) -> int:
        """Real segments."""
        return sum(pack.num_segments for pack in self.packs)

    @property
    def max_seqlen(self) -> int:
        """No segment is longer."""
        return max(pack.max_seqlen for pack in self.packs)

    @property
    def device(self) -> torch.device:
        """Where its tensors are."""
        return self.packs[0].device

    @property
    def static_key(self) -> Hashable:
        """The directions, and what the work on each pack depends on."""
        return (self.factors is not None, *((name, pack.static_key) for name, pack in self.parts))

    def tensors(self) -> list[Tensor]:
        """Those of all packs, then the factors."""
        found = [tensor for pack in self.packs for tensor in pack.tensors()]
        return found if self.factors is None else [*found, self.factors]

    def map(self, change: Callable[[PackedBatch], PackedBatch], factors: Tensor | None) -> "DirectedBatch":
        """The same batch with each pack changed by a function, and with these factors."""
        return DirectedBatch(tuple((name, change(pack)) for name, pack in self.parts), factors)

    def to(self, device: torch.device) -> "DirectedBatch":
        """The same batch on a device; the copy may run beside the host."""
        moved = None if self.factors is None else self.factors.to(device, non_blocking=True)
        return self.map(lambda pack: pack.to(device), moved)

    def pin(self) -> "DirectedBatch":
        """The same batch in page-locked memory."""
        return self.map(PackedBatch.pin, None if self.factors is None else self.factors.pin_memory())

    def clone(self) -> "DirectedBatch":
        """The same batch in memory of its own."""
        return self.map(PackedBatch.clone, None if self.factors is None else self.factors.clone())

    def blank(self) -> "DirectedBatch":
        """A batch of the same shapes and directions in which nothing counts."""
        return self.map(PackedBatch.blank, self.factors)

"""How the global batches of a text task become packs: the shape of the run, its symbols, how much each step holds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from trimtab.data.cut import cut, pack_pairs
from trimtab.data.shape import PackShape
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.types import PackedBatch, Ragged


@dataclass(slots=True)
class Packing:
    """Cuts global batches into packs of one shape."""

    shape: PackShape
    symbols: Mapping[str, int]
    """The ids that packs are made with: see `Tokenizers.symbols`."""
    tokens_per_step: int
    """Target tokens of a step, once steps do not grow any more."""
    tokens_at: Callable[[int], int]
    """Target tokens that the global batch of a step may hold."""
    device: torch.device
    """Where whole sets are put."""

    @property
    def resolved(self) -> dict[str, int | None]:
        """The budget that was chosen for sources, by its key of the recipe's `step`; None if there are none."""
        return {"source_tokens_per_micro_batch": self.shape.source_slots or None}

    @property
    def num_batches(self) -> int:
        """Packs of a whole step."""
        return self.shape.num_packs

    @property
    def in_order(self) -> bool:
        """False: every pack uses all weights, so that a rank may take any."""
        return False

    def shape_at(self, step: int) -> PackShape:
        """The packs of a step: always of one size, fewer of them where the step is smaller."""
        num_packs = -(-self.tokens_at(step) * self.shape.num_packs // self.tokens_per_step)
        return replace(self.shape, num_packs=num_packs)

    def cut(self, window: TextGlobalBatch, shape: PackShape | None = None) -> list[PackedBatch]:
        """A global batch in packs of the run's shape, or of another, in host memory."""
        return cut(window, shape or self.shape, **self.symbols)

    def cut_at(self, window: TextGlobalBatch, step: int) -> list[PackedBatch]:
        """The global batch of a step in packs, in host memory."""
        return self.cut(window, self.shape_at(step))

    def pack_pairs(
        self, source: Ragged, target: Ragged, *, prompt: np.ndarray | None = None
    ) -> Iterator[PackedBatch]:
        """A whole set in packs on the device; `prompt` gives the number of leading targets of each row that do not
        count."""
        for pack in pack_pairs(source, target, self.shape, prompt=prompt, **self.symbols):
            yield pack.to(self.device)

"""Decoding sessions without a key-value cache: each step reads the whole text, slow but exact with every option."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

if TYPE_CHECKING:
    from trimtab.model.module.x_transformers import XDecoder


@runtime_checkable
class HiddenOfRows(Protocol):
    """The vectors of padded rows, as `output_matrix` takes them."""

    def __call__(self, ids: Int[Tensor, "rows length"], /, *memory: Tensor) -> Tensor:
        """`memory` is what a decoder attends to, and which of it is real."""
        ...


class UncachedTexts:
    """`width` texts for each row, kept as ids alone: nothing that the model computes is cached."""

    def __init__(self, matrix: Tensor, *, rows: int, width: int) -> None:
        """`matrix` is the output matrix."""
        self.matrix, self.rows, self.width = matrix, rows, width
        self.written = torch.zeros((rows * width, 0), dtype=torch.long, device=matrix.device)

    def cut_output(self, ids: Int[Tensor, "short"]) -> None:
        """From now on, `step` gives the logits of these ids alone, in this order."""
        self.matrix = self.matrix[ids]

    def reorder(self, parents: Int[Tensor, "rows width"]) -> None:
        """Hypothesis j of row i continues hypothesis `parents[i, j]` of the same row."""
        first = torch.arange(self.rows, device=parents.device)[:, None] * self.width
        self._take((first + parents).flatten())

    def keep(self, rows: Int[Tensor, "kept"]) -> None:
        """Continues with these rows only, in this order."""
        self._take(hypotheses_of(rows, self.width))
        self.rows = len(rows)

    def _take(self, chosen: Int[Tensor, "hypotheses"]) -> None:
        self.written = self.written[chosen]


class UncachedSession(UncachedTexts):
    """Sources being translated, `width` hypotheses each; see `types.DecoderSession`."""

    def __init__(
        self, hidden_of: HiddenOfRows, matrix: Tensor, *, memory: Tensor, real: Tensor, width: int
    ) -> None:
        """`memory` and `real` have a row for each source."""
        super().__init__(matrix, rows=len(memory), width=width)
        self.hidden_of = hidden_of
        self.memory = memory.repeat_interleave(width, 0)
        self.real = real.repeat_interleave(width, 0)

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each hypothesis and gives the float32 logits of the next one."""
        self.written = torch.cat([self.written, tokens.reshape(-1, 1)], 1)
        hidden = self.hidden_of(self.written, self.memory, self.real)[:, -1]
        return F.linear(hidden, self.matrix).float().view(self.rows, self.width, -1)

    def _take(self, chosen: Int[Tensor, "hypotheses"]) -> None:
        super()._take(chosen)
        self.memory, self.real = self.memory[chosen], self.real[chosen]


class UncachedPrompts(UncachedTexts):
    """Prompts that continue; see `decode.continuing.OpenPrompts` and `types.DecoderSession`."""

    def __init__(self, model: "XDecoder", *, rows: int, width: int) -> None:
        """`width` texts for each of the `rows`."""
        super().__init__(model.output_matrix, rows=rows, width=width)
        self.model = model
        self.lengths = torch.zeros(rows * width, dtype=torch.long, device=self.matrix.device)

    def feed(self, tokens: Int[Tensor, "rows length"], skipped: Int[Tensor, "rows"]) -> None:
        """Feeds what each row begins with, before any step; its first `skipped` are no tokens."""
        # Texts begin at the left, since positions count from there; what fills them up stands behind them.
        places = torch.arange(tokens.shape[1], device=tokens.device)[None]
        moved = tokens.gather(1, (places + skipped[:, None]).clamp(max=tokens.shape[1] - 1))
        lengths = tokens.shape[1] - skipped
        moved = moved.masked_fill(places >= lengths[:, None], self.model.pad)
        self.written = moved.repeat_interleave(self.width, 0)
        self.lengths = lengths.repeat_interleave(self.width, 0)

    def step(self, tokens: Int[Tensor, "rows width"]) -> Float[Tensor, "rows width vocabulary"]:
        """Feeds one token to each text and gives the float32 logits of the next one."""
        # Rows that are done may run on beyond the last position; nothing reads what they are given there.
        places = self.lengths.clamp(max=self.model.max_positions - 1)
        if int(places.max()) == self.written.shape[1]:
            self.written = F.pad(self.written, (0, 1), value=self.model.pad)
        self.written = self.written.scatter(1, places[:, None], tokens.reshape(-1, 1))
        every = torch.arange(len(self.written), device=tokens.device)
        hidden = self.model.hidden_of(self.written)[every, places]
        self.lengths = self.lengths + 1
        return F.linear(hidden, self.matrix).float().view(self.rows, self.width, -1)

    def _take(self, chosen: Int[Tensor, "hypotheses"]) -> None:
        super()._take(chosen)
        self.lengths = self.lengths[chosen]


def hypotheses_of(rows: Int[Tensor, "kept"], width: int) -> Int[Tensor, "hypotheses"]:
    """The numbers of all hypotheses of these rows."""
    return (rows[:, None] * width + torch.arange(width, device=rows.device)).flatten()

"""A language model as a program of `torch.export`: rows of ids of one length in, all their logits out."""

from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.model.block import DecoderBlock
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.positions.kind import PositionInputs
from trimtab.model.positions.shaw import Relative, attend_biased
from trimtab.types import Stream

PROGRAM = "model.pt2"


class RowDecoder(nn.Module):
    """A decoder over rows that are filled up after their ends, in place of packed streams.

    Attention is causal, so what follows the end of a row changes nothing before it.
    """

    def __init__(self, model: DecoderOnly) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Int[Tensor, "rows length"]) -> Float[Tensor, "rows length vocabulary"]:
        """The float32 logits after each token of each row."""
        rows, length = ids.shape
        row = torch.arange(length, device=ids.device)
        positions = row.expand(rows, length).flatten()
        segments = torch.arange(rows, device=ids.device)[:, None].expand(rows, length).flatten()
        cu_seqlens = torch.arange(rows + 1, device=ids.device, dtype=torch.int32) * length
        stream = Stream(ids.flatten(), positions, segments, cu_seqlens, max_seqlen=self.model.max_positions)
        x = self.model.embed_target(stream)
        rotary = self.model.target_positions.rotate(positions)
        given = PositionInputs(
            None, self.model.target_positions.bias(row, row), self.model.target_positions.distances(row, row)
        )

        def attend(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor | Relative | None) -> Tensor:
            q, k, v = (each.unflatten(0, (rows, length)).transpose(1, 2) for each in (queries, keys, values))
            if bias is None:
                shared = keys.shape[1] != queries.shape[1]
                found = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=shared)
            else:
                k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], 1) for each in (k, v))
                found = attend_biased(q, k, v, seen=row[:, None] >= row, bias=bias)
            return found.transpose(1, 2).flatten(0, 1)

        for block in self.model.decoder.blocks:
            assert isinstance(block, DecoderBlock)
            own = partial(attend, bias=block.attention.added(given))
            x = block.run(x, partial(block.attention.attend_by, own, rotary=rotary))
        logits = F.linear(self.model.decoder.norm(x), self.model.output_matrix)[:, : self.model.num_ids]
        return logits.float().unflatten(0, (rows, length))


def write_program(model: DecoderOnly, folder: Path) -> None:
    """Writes the program for any number of rows and any length up to that of the model's positions."""
    example = torch.zeros((2, min(4, model.max_positions)), dtype=torch.long)
    sizes = {
        0: torch.export.Dim("rows", min=1),
        1: torch.export.Dim("length", min=1, max=model.max_positions),
    }
    with torch.no_grad():
        program = torch.export.export(RowDecoder(model), (example,), dynamic_shapes=(sizes,))
    torch.export.save(program, folder / PROGRAM)

"""Registers: learned vectors before each source, which the encoder reads as tokens and which are dropped after it.

Source: Darcet et al. 2023, "Vision transformers need registers", arXiv 2309.16588, section 2.2.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trimtab.types import Stream


class RegisterSlots(NamedTuple):
    """A stream with room for registers at the beginning of each segment."""

    stream: Stream
    """Its ids are 0 throughout: nothing looks them up."""
    tokens: Int[Tensor, "tokens"]
    """Where the tokens are in it."""
    registers: Int[Tensor, "segments_times_count"]
    """Where the registers are, segment by segment."""


def with_register_slots(stream: Stream, count: int) -> RegisterSlots:
    """The stream with `count` slots more for each segment, empty segments included, so that its size is as fixed as the
    stream's."""
    starts = stream.cu_seqlens[:-1].long()
    numbers = torch.arange(len(starts), device=starts.device)
    slots = torch.arange(count, device=starts.device)
    tokens = torch.arange(len(stream.ids), device=starts.device) + count * (stream.segments + 1)
    registers = ((starts + count * numbers)[:, None] + slots).flatten()
    size = len(tokens) + len(registers)

    def joined(of_tokens: Tensor, of_registers: Tensor) -> Tensor:
        empty = of_tokens.new_zeros(size)
        return empty.index_copy(0, tokens, of_tokens).index_copy(0, registers, of_registers)

    cu_seqlens = stream.cu_seqlens + count * torch.arange(
        len(stream.cu_seqlens), device=starts.device, dtype=torch.int32
    )
    wide = Stream(
        ids=stream.ids.new_zeros(size),
        positions=joined(stream.positions + count, slots.repeat(len(starts)).to(stream.positions.dtype)),
        segments=joined(stream.segments, numbers.repeat_interleave(count).to(stream.segments.dtype)),
        cu_seqlens=cu_seqlens,
        max_seqlen=stream.max_seqlen + count,
    )
    return RegisterSlots(wide, tokens, registers)


def with_registers(
    x: Float[Tensor, "tokens dim"], vectors: Float[Tensor, "count dim"], places: RegisterSlots
) -> Float[Tensor, "wide dim"]:
    """The vectors of the tokens with those of the registers before each segment."""
    segments = len(places.registers) // len(vectors)
    empty = x.new_zeros(len(x) + len(places.registers), x.shape[1])
    filled = empty.index_copy(0, places.tokens, x)
    return filled.index_copy(0, places.registers, vectors.to(x.dtype).repeat(segments, 1))

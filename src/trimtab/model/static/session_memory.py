"""The memory of static sessions: allocated once, and seen in the shape of whichever session has it."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.gpu.triton_runs import triton_runs_on
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.static.shapes import FIRST_MEMORY, Shape

SIZES = (16, 32, 64, 128)
"""Of heads that the Triton kernel takes."""


@dataclass(frozen=True, slots=True)
class Slots:
    """What one decoder block remembers. A token's heads lie side by side, so that a slot is one stretch of memory."""

    keys: Float[Tensor, "rows width room kv_heads size"]
    values: Float[Tensor, "rows width room kv_heads size"]
    source_keys: Float[Tensor, "rows kv_heads source size"]
    source_values: Float[Tensor, "rows kv_heads source size"]


@dataclass(frozen=True, slots=True)
class Place:
    """All that a step of one shape reads and writes."""

    shape: Shape
    tokens: Int[Tensor, "rows width"]
    """What is fed."""
    past: Int[Tensor, "1"]
    """How many tokens were fed before."""
    ancestors: Int[Tensor, "rows width room"]
    """Which hypothesis of the row wrote the token that a hypothesis has at each place: hypotheses change places by
    changing this table, and no key or value is moved."""
    real: Bool[Tensor, "rows 1 1 source"]
    """Which source tokens there are."""
    logits: Float[Tensor, "rows width vocabulary"]
    """What comes out, float32."""
    blocks: tuple[Slots, ...]
    by_kernel: bool
    """Whether attention runs by the Triton kernel."""


class SessionMemory:
    """Memory for one session at a time. It grows when a larger session comes, and then lies elsewhere."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model
        attention = model.decoder.blocks[0].attention
        self.kv_heads: int = attention.kv_heads
        self.size: int = attention.size
        self.by_kernel = kernel_fits(model.output_matrix, size=self.size) and not model.has_bias
        """Whether attention runs by the Triton kernel, which adds no bias of positions; only to be changed before the
        first session."""
        self.buffers: dict[str, Tensor] = {}
        self.places: dict[Shape, Place] = {}

    def reserve(self, shape: Shape) -> bool:
        """Makes room for sessions of this shape; whether the memory was moved for it, and what it held is lost."""
        sizes = {name: math.prod(dims) for name, (dims, _) in self._layout(shape).items()}
        if self.buffers and all(self.buffers[name].numel() >= size for name, size in sizes.items()):
            return False
        sizes = {
            name: max(size, self.buffers[name].numel() if self.buffers else 0) for name, size in sizes.items()
        }
        self.release()
        device = self.model.output_matrix.device
        # Tensors of inference mode could not be written to outside it.
        with torch.inference_mode(False):
            for name, (_, dtype) in self._layout(shape).items():
                self.buffers[name] = torch.zeros(sizes[name], dtype=dtype, device=device)
        return True

    def first_slots(self, max_length: int) -> int:
        """For how many target tokens a session begins. The kernel reads only what there is; without it attention runs
        over all slots, so there are few at first."""
        return max_length if self.by_kernel else min(max_length, FIRST_MEMORY)

    def release(self) -> None:
        """Gives the memory back."""
        self.buffers, self.places = {}, {}

    def place(self, shape: Shape) -> Place:
        """The memory seen in this shape, for which there must be room; always the same tensors while it stays."""
        if shape not in self.places:
            with torch.inference_mode(False):
                seen = {
                    name: self.buffers[name][: math.prod(dims)].view(dims)
                    for name, (dims, _) in self._layout(shape).items()
                }
            blocks = tuple(
                Slots(*(seen.pop(f"{name}.{number}") for name in Slots.__dataclass_fields__))
                for number in range(len(self.model.decoder.blocks))
            )
            self.places[shape] = Place(shape=shape, blocks=blocks, by_kernel=self.by_kernel, **seen)
        return self.places[shape]

    def _layout(self, shape: Shape) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
        """Size and kind of each tensor."""
        rows, width, source, memory = shape
        kept = self.model.output_matrix.dtype
        target = ((rows, width, memory, self.kv_heads, self.size), kept)
        sources = ((rows, self.kv_heads, source, self.size), kept)
        found = {
            "tokens": ((rows, width), torch.long),
            "past": ((1,), torch.long),
            "ancestors": ((rows, width, memory), torch.long),
            "real": ((rows, 1, 1, source), torch.bool),
            "logits": ((rows, width, self.model.num_ids), torch.float32),
        }
        for number in range(len(self.model.decoder.blocks)):
            found |= {f"keys.{number}": target, f"values.{number}": target}
            found |= {f"source_keys.{number}": sources, f"source_values.{number}": sources}
        return found


def kernel_fits(weights: Tensor, *, size: int) -> bool:
    """Whether the Triton kernel runs on the device of these weights and takes heads of this size."""
    return size in SIZES and triton_runs_on(weights.device)

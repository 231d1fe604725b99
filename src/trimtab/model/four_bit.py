"""Linear maps whose matrix is kept in 4 bits and unpacked for each product, as bitsandbytes packs it.

Source: Dettmers et al. 2023, QLoRA, arXiv 2305.14314, section 3: NormalFloat in blocks of 64 weights, the scales of the
blocks in 8 bits in groups of 256.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.errors import input_error

BLOCK, GROUP = 64, 256
STORED = ("codes", "scales", "group_scales", "mean_scale")
"""Buffers of a packed matrix. Those of floating point are kept as the bits of integers, which no change of a model's
precision rounds."""


class Packed(NamedTuple):
    """A matrix in 4 bits."""

    codes: Tensor
    scales: Tensor
    group_scales: Tensor
    mean_scale: Tensor


class FourBitLinear(nn.Linear):
    """A frozen linear map whose matrix is packed. Maps that are fused are packed one by one, as they are in
    transformers' models, so that the numbers are those of bitsandbytes there.

    Until `pack` the matrix is `weight`, on the CPU and no parameter; afterwards `weight` is empty.
    """

    def __init__(self, linear: nn.Linear, rows: tuple[int, ...], *, device: torch.device) -> None:
        """Takes over the bias of `linear` and, until it is packed, the weight."""
        super().__init__(linear.in_features, linear.out_features, bias=False, device="meta")
        set_plain(self, linear.weight.detach())
        self.bias = linear.bias
        self.rows = rows
        for number, count in enumerate(rows):
            for name, each in zip(STORED, empty(count, self.in_features, device=device), strict=True):
                self.register_buffer(f"{name}_{number}", each, persistent=False)
        code = functional().create_dynamic_map().to(device)
        self.register_buffer("code", code.view(torch.int32), persistent=False)

    @torch.no_grad()
    def pack(self) -> None:
        """Fills the packed matrices from `weight`, and lets go of it."""
        for number, part in enumerate(self.weight.split(list(self.rows))):
            device = getattr(self, f"codes_{number}").device
            for name, each in zip(STORED, packed(part.to(device)), strict=True):
                getattr(self, f"{name}_{number}").copy_(each)
        set_plain(self, self.weight.new_empty(0))

    def parts(self) -> Iterator[Packed]:
        """The packed matrices, one below another."""
        for number in range(len(self.rows)):
            yield Packed(*(getattr(self, f"{name}_{number}") for name in STORED))

    def matrix(self, dtype: torch.dtype) -> Float[Tensor, "out dim"]:
        """The matrix as it is multiplied."""
        if self.weight.numel():
            return self.weight.to(dtype)
        shapes = [(rows, self.in_features) for rows in self.rows]
        return unpacked(shapes, dtype, self.code, *(each for part in self.parts() for each in part))

    def product(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows out"]:
        """Without the bias, in the precision in which autocast multiplies."""
        kind = x.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype
        if self.weight.numel():
            return F.linear(x.to(dtype), self.weight.to(x.device, dtype))
        shapes = [(rows, self.in_features) for rows in self.rows]
        tensors = [each for part in self.parts() for each in part]
        return FourBitProduct.apply(x.to(dtype), shapes, self.code, *tensors)

    def forward(self, input: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows out"]:
        """Each vector by itself."""
        mapped = self.product(input)
        return mapped if self.bias is None else mapped + self.bias.to(mapped.dtype)


class FourBitProduct(torch.autograd.Function):
    """`x @ W.T` with a packed W, which is unpacked again in backward, since keeping it would cost the memory that
    packing saved."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, shapes: list[tuple[int, int]], code: Tensor, *tensors: Tensor) -> Tensor:
        """See the class."""
        ctx.shapes = shapes
        ctx.save_for_backward(code, *tensors)
        return F.linear(x, unpacked(shapes, x.dtype, code, *tensors))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of x alone; the rest is frozen."""
        (gradient,) = gradients
        code, *tensors = ctx.saved_tensors
        matrix = unpacked(ctx.shapes, gradient.dtype, code, *tensors)
        return (gradient @ matrix, None, None, *(None for _ in tensors))


def packed(matrix: Float[Tensor, "rows columns"]) -> Packed:
    """A matrix in 4 bits; it is rounded from float32."""
    codes, state = functional().quantize_4bit(
        matrix.float().contiguous(), blocksize=BLOCK, compress_statistics=True, quant_type="nf4"
    )
    groups, mean = state.state2.absmax, state.offset
    return Packed(codes, state.absmax, groups.view(torch.int32), mean.float().reshape(1).view(torch.int32))


def unpacked(
    shapes: list[tuple[int, int]], dtype: torch.dtype, code: Tensor, *tensors: Tensor
) -> Float[Tensor, "rows columns"]:
    """Packed matrices one below another: four tensors for each, and the values of 8 bits of their scales."""
    found: list[Tensor] = []
    for number, shape in enumerate(shapes):
        each = Packed(*tensors[4 * number : 4 * number + 4])
        scales = torch.ops.bitsandbytes.dequantize_blockwise(
            each.scales,
            each.group_scales.view(torch.float32),
            code.view(torch.float32),
            GROUP,
            torch.float32,
        )
        scales = scales + each.mean_scale.view(torch.float32)
        found.append(
            torch.ops.bitsandbytes.dequantize_4bit(each.codes, scales, BLOCK, "nf4", list(shape), dtype)
        )
    return found[0] if len(found) == 1 else torch.cat(found)


def empty(rows: int, columns: int, *, device: torch.device) -> Packed:
    """Room for a packed matrix."""
    blocks = -(-rows * columns // BLOCK)
    groups = -(-blocks // GROUP)
    return Packed(
        torch.zeros((rows * columns + 1) // 2, 1, dtype=torch.uint8, device=device),
        torch.zeros(blocks, dtype=torch.uint8, device=device),
        torch.zeros(groups, dtype=torch.int32, device=device),
        torch.zeros(1, dtype=torch.int32, device=device),
    )


def set_plain(module: nn.Module, tensor: Tensor) -> None:
    """Makes a tensor the `weight` of a module, as no parameter of it: it is not trained, moved, cast or saved."""
    module._parameters.pop("weight", None)
    module.__dict__["weight"] = tensor


def functional() -> Any:
    """bitsandbytes' functions; InputError if it is not installed."""
    try:
        import bitsandbytes.functional
    except ModuleNotFoundError as error:
        if error.name != "bitsandbytes":
            raise
        raise input_error(
            "adapter.quantize_base: weights of 4 bits are packed by bitsandbytes, which is not installed",
            got="no bitsandbytes",
            allowed="bitsandbytes 0.48 or newer",
            fix='pip install "trimtab[qlora]", or set `adapter.quantize_base: none`',
        ) from None
    return bitsandbytes.functional


def four_bit_maps(model: nn.Module) -> list[FourBitLinear]:
    """The maps of a model that are packed, or will be."""
    return [each for each in model.modules() if isinstance(each, FourBitLinear)]


def pack_maps(model: nn.Module) -> None:
    """Packs every map that is to be, once its weights are there."""
    for each in four_bit_maps(model):
        if each.weight.numel():
            each.pack()

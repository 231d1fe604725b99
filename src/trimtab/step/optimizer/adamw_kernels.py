"""`compact_adamw.move_slices` as one Triton kernel over blocks of states, in place."""
# ruff: noqa: ANN001, ANN201

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from trimtab.step.optimizer.compact_adamw import Decays, Rates

BLOCKS = 8
"""Of states, which one program updates."""
WARPS = 4


def move(
    parameter: Tensor, state: dict[str, Tensor], rates: Rates, seed: Tensor, *, decays: Decays, stable: bool
) -> None:
    """See `compact_adamw.move_slices`; for states below float32."""
    assert parameter.grad is not None
    weights, gradient = parameter.detach(), parameter.grad.contiguous()
    assert weights.is_contiguous(), "weights are moved in place"
    size = weights.numel()
    first, second = state["exp_avg"], state["exp_avg_sq"]
    scales = state.get("exp_avg_scale", rates.rate), state.get("exp_avg_sq_scale", rates.rate)
    bits = 8 * first.element_size() if "exp_avg_scale" not in state else 8 * first.shape[1] // 128
    numbers = torch.stack(rates)
    grid = (triton.cdiv(size, 128 * BLOCKS),)
    with torch.cuda.device_of(weights):
        if stable:
            parts = torch.empty(grid[0], device=weights.device)
            ratio_kernel[grid](
                *(gradient, second, scales[1], numbers, parts, size, decays.second, decays.eps),
                BITS=bits,
                BLOCKS=BLOCKS,
                num_warps=WARPS,
            )
            numbers[:2] /= (parts.sum() / size).sqrt().clamp(min=1.0)
        adamw_kernel[grid](
            *(weights, state.get("rounded_off", weights), gradient, first, second, *scales),
            *(numbers, seed, size, *decays),
            KEEPS="rounded_off" in state,
            BITS=bits,
            BLOCKS=BLOCKS,
            num_warps=WARPS,
        )


@triton.jit
@no_type_check
def adamw_kernel(
    weights,
    rounded_off,
    gradients,
    firsts,
    seconds,
    first_scales,
    second_scales,
    numbers,
    seed,
    size,
    first_decay,
    second_decay,
    eps,
    KEEPS: tl.constexpr,
    BITS: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """Some blocks of a tensor."""
    size = tl.where(tl.load(numbers + 4) > 0, 0, size)  # where the update is skipped, nothing is in range
    blocks = tl.program_id(0).to(tl.int64) * BLOCKS + tl.arange(0, BLOCKS)
    places = blocks[:, None] * 128 + tl.arange(0, 128)[None, :]
    inside = places < size
    gradient = tl.load(gradients + places, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weights + places, mask=inside, other=0.0).to(tl.float32)
    if KEEPS:
        off = tl.load(rounded_off + places, mask=inside, other=0).to(tl.int32)
        weight = (weight.to(tl.int32, bitcast=True) + off * 256).to(tl.float32, bitcast=True)
    first = read_first(firsts, first_scales, blocks, places, size, BITS, BLOCKS)
    second = read_second(seconds, second_scales, blocks, places, size, BITS, BLOCKS)
    first = first * first_decay + gradient * (1 - first_decay)
    second = second * second_decay + gradient * gradient * (1 - second_decay)
    root = tl.sqrt(second / tl.load(numbers + 3)) + eps
    change = first / tl.load(numbers + 2) / root
    moved = weight * (1 - tl.load(numbers + 1)) - tl.load(numbers) * change
    one = mixed(mixed(places.to(tl.uint32)) ^ tl.load(seed).to(tl.uint32))
    two = mixed(one ^ 0x9E3779B9)
    if KEEPS:  # see `block_states.split`
        more = tl.where(tl.abs(moved) < float("inf"), ((one >> 16) & 255).to(tl.int32), 0)
        whole = (moved.to(tl.int32, bitcast=True) + more) & -256
        nearest = (whole + 0x8000) & -65536
        tl.store(rounded_off + places, ((whole - nearest) >> 8).to(tl.int8), mask=inside)
        moved = nearest.to(tl.float32, bitcast=True)
    elif weights.dtype.element_ty == tl.bfloat16:
        moved = narrowed(moved, one >> 16)
    tl.store(weights + places, moved.to(weights.dtype.element_ty), mask=inside)
    if BITS == 16:
        tl.store(firsts + places, narrowed(first, one & 0xFFFF).to(tl.bfloat16), mask=inside)
        tl.store(seconds + places, narrowed(second, two & 0xFFFF).to(tl.bfloat16), mask=inside)
    else:
        first_chance = ((one & 0xFFFF).to(tl.float32) + 0.5) / 65536
        second_chance = ((two & 0xFFFF).to(tl.float32) + 0.5) / 65536
        write_first(firsts, first_scales, first, first_chance, blocks, places, size, BITS, BLOCKS)
        write_second(seconds, second_scales, second, second_chance, blocks, places, size, BITS, BLOCKS)


@triton.jit
@no_type_check
def ratio_kernel(
    gradients,
    seconds,
    second_scales,
    numbers,
    parts,
    size,
    second_decay,
    eps,
    BITS: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """The part of some blocks in `compact_adamw.ratio_squares`."""
    blocks = tl.program_id(0).to(tl.int64) * BLOCKS + tl.arange(0, BLOCKS)
    places = blocks[:, None] * 128 + tl.arange(0, 128)[None, :]
    gradient = tl.load(gradients + places, mask=places < size, other=0.0).to(tl.float32)
    second = read_second(seconds, second_scales, blocks, places, size, BITS, BLOCKS)
    square = gradient * gradient
    after = (second * second_decay + square * (1 - second_decay)) / tl.load(numbers + 3)
    ratio = square / tl.maximum(after, eps * eps)
    tl.store(parts + tl.program_id(0), tl.sum(tl.sum(ratio, 1), 0))


@triton.jit
@no_type_check
def mixed(x):
    """See `block_states.mixed`."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
@no_type_check
def narrowed(values, chance):
    """See `block_states.narrowed`."""
    bits = values.to(tl.int32, bitcast=True) + chance.to(tl.int32)
    moved = (bits & -65536).to(tl.float32, bitcast=True)
    return tl.where(tl.abs(values) < float("inf"), moved, values)


@triton.jit
@no_type_check
def read_codes(states, blocks, places, size, BITS: tl.constexpr, BLOCKS: tl.constexpr):
    """Codes of blocks as float32; the first half of a block has the lower bits of its bytes."""
    there = (blocks < (size + 127) // 128)[:, None]
    if BITS == 8:
        codes = tl.load(states + places, mask=there, other=0).to(tl.float32)
    else:
        columns = tl.arange(0, 128)[None, :]
        pairs = tl.load(states + blocks[:, None] * 64 + columns % 64, mask=there, other=0).to(tl.int32)
        codes = ((pairs >> (columns // 64 * 4)) & 15).to(tl.float32)
    return codes


@triton.jit
@no_type_check
def read_first(states, scales, blocks, places, size, BITS: tl.constexpr, BLOCKS: tl.constexpr):
    """See `block_states.decoded_first`."""
    if BITS == 16:
        found = tl.load(states + places, mask=places < size, other=0.0).to(tl.float32)
    else:
        codes = read_codes(states, blocks, places, size, BITS, BLOCKS)
        scale = tl.load(scales + blocks, mask=blocks < (size + 127) // 128, other=0.0)
        share = codes / 127 if BITS == 8 else (codes - 8) / 7
        found = share * tl.abs(share) * scale[:, None]
    return found


@triton.jit
@no_type_check
def read_second(states, scales, blocks, places, size, BITS: tl.constexpr, BLOCKS: tl.constexpr):
    """See `block_states.decoded_second`."""
    if BITS == 16:
        found = tl.load(states + places, mask=places < size, other=0.0).to(tl.float32)
    else:
        codes = read_codes(states, blocks, places, size, BITS, BLOCKS)
        scale = tl.load(scales + blocks, mask=blocks < (size + 127) // 128, other=0.0)
        share = codes / 255 if BITS == 8 else codes / 15
        square = share * share
        found = square * square * scale[:, None]
    return found


@triton.jit
@no_type_check
def write_codes(states, codes, blocks, size, BITS: tl.constexpr, BLOCKS: tl.constexpr):
    """Stores codes from 0 to 15 two to a byte, or codes of 8 bits."""
    there = (blocks < (size + 127) // 128)[:, None]
    if BITS == 8:
        places = blocks[:, None] * 128 + tl.arange(0, 128)[None, :]
        tl.store(states + places, codes.to(states.dtype.element_ty), mask=there)
    else:
        halves = tl.reshape(codes.to(tl.int32), (BLOCKS, 2, 64))
        shifts = tl.arange(0, 2)[None, :, None] * 4
        together = tl.sum(halves << shifts, 1)
        places = blocks[:, None] * 64 + tl.arange(0, 64)[None, :]
        tl.store(states + places, together.to(tl.uint8), mask=there)


@triton.jit
@no_type_check
def write_first(
    states, scales, values, chance, blocks, places, size, BITS: tl.constexpr, BLOCKS: tl.constexpr
):
    """See `block_states.encoded_first`."""
    values = tl.where(places < size, values, 0.0)
    most: tl.constexpr = 127 if BITS == 8 else 7
    scale = tl.max(tl.abs(values), 1)
    share = tl.abs(values) / tl.maximum(scale, 1.1754943508222875e-38)[:, None]
    below = tl.minimum(tl.floor(tl.sqrt(share) * most), most - 1)
    low = (below / most) * (below / most)
    high = ((below + 1) / most) * ((below + 1) / most)
    code = below + tl.where(chance * (high - low) < share - low, 1.0, 0.0)
    code = tl.where(values < 0, -code, code)
    write_codes(states, code if BITS == 8 else code + 8, blocks, size, BITS, BLOCKS)
    tl.store(scales + blocks, scale, mask=blocks < (size + 127) // 128)


@triton.jit
@no_type_check
def write_second(
    states, scales, values, chance, blocks, places, size, BITS: tl.constexpr, BLOCKS: tl.constexpr
):
    """See `block_states.encoded_second`."""
    values = tl.where(places < size, values, 0.0)
    most: tl.constexpr = 255 if BITS == 8 else 15
    scale = tl.max(values, 1)
    share = values / tl.maximum(scale, 1.1754943508222875e-38)[:, None]
    below = tl.minimum(tl.floor(tl.sqrt(tl.sqrt(share)) * most), most - 1)
    low, high = below / most, (below + 1) / most
    low, high = low * low * low * low, high * high * high * high
    code = below + tl.where(chance * (high - low) < share - low, 1.0, 0.0)
    code = tl.where(values > 0, tl.maximum(code, 1.0), code)
    write_codes(states, code, blocks, size, BITS, BLOCKS)
    tl.store(scales + blocks, scale, mask=blocks < (size + 127) // 128)

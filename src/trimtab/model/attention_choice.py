"""Which kernel is the fastest for full documents: measured on the card itself, once a process."""

import statistics
from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor

from trimtab.model.attention import attend, attend_full_first
from trimtab.model.attention_rows import SIZES
from trimtab.model.sequence_layout import SequenceLayout

TOKENS, HEADS = 32768, 16
"""What is measured, or as many heads as the model has. In a quarter of it the host takes longer to launch a kernel than
the card to run it, and the kernel that is launched faster wins."""
CALLS, REPETITIONS = 4, 3
BUSY, SIDE = 24, 4096
"""Products of such matrices that the card makes while the host launches what is measured: about 5 ms."""
SAME = 2e-2
"""Relative distance of outputs and gradients, in half precision, up to which another kernel does the same."""


def rows_are_faster(layout: SequenceLayout, *, heads: int, size: int) -> bool:
    """Whether full segments are faster as rows than by the kernel for segments of any length.

    Not where `step.deterministic` is on, since its bits were not compared; nor where segments are short enough for
    tiles; nor while a step is recorded, in which nothing can be measured: then what was found before counts.
    """
    device = layout.cu_seqlens.device
    if (
        device.type != "cuda"
        or torch.version.hip is not None
        or size not in SIZES
        or layout.spans is not None
    ):
        return False
    if torch.are_deterministic_algorithms_enabled() or layout.places is not None:
        return False
    return measured(device, layout.max_seqlen, min(heads, HEADS), size, layout.flash4)


@cache
def measured(device: torch.device, length: int, heads: int, size: int, flash4: bool) -> bool:
    """Whether rows are faster forward and backward, and give the same; False where they do not run."""
    if torch.cuda.is_current_stream_capturing():
        return False
    try:
        return compared(device, length, heads, size, flash4)
    except RuntimeError:  # no such kernel here, or no memory to try it
        return False


def compared(device: torch.device, length: int, heads: int, size: int, flash4: bool) -> bool:
    """The same; RuntimeError where one of them does not run."""
    rows_made = max(1, TOKENS // length)
    cu_seqlens = torch.arange(0, rows_made * length + 1, length, device=device, dtype=torch.int32)
    layout = SequenceLayout(cu_seqlens, length, None, None, flash4=flash4)
    generator = torch.Generator(device).manual_seed(0)
    shape = (4, rows_made * length, heads, size)
    *inputs, weight = torch.randn(shape, generator=generator, device=device, dtype=torch.bfloat16)
    inputs = [each.requires_grad_() for each in inputs]
    seen_as_rows = partial(attend_full_first, layout=layout._replace(full=rows_made), causal=True)
    of_any_length = partial(attend, of=layout, to=layout, causal=True)
    with torch.enable_grad(), torch.autocast("cuda", enabled=False):
        rows, flat = (partial(with_gradients, each, inputs, weight) for each in (seen_as_rows, of_any_length))
        if not all(distance(one, other) <= SAME for one, other in zip(rows(), flat(), strict=True)):
            return False
        return milliseconds(rows) < milliseconds(flat)


def with_gradients(
    function: Callable[..., Tensor], inputs: list[Tensor], weight: Tensor
) -> tuple[Tensor, ...]:
    """The output and the gradients of the inputs."""
    out = function(*inputs)
    return out.detach(), *torch.autograd.grad(out, inputs, weight)


def distance(found: Tensor, truth: Tensor) -> float:
    """Relative; infinite where a number is not finite."""
    if not bool(found.isfinite().all()):
        return torch.inf
    return float((found.float() - truth.float()).norm() / truth.float().norm())


def milliseconds(call: Callable[[], object]) -> float:
    """Of a call on the device alone, whatever the host takes to launch it: the median over repetitions."""
    found = []
    matrix = torch.ones(SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
    for _ in range(REPETITIONS):
        for _ in range(BUSY):
            torch.mm(matrix, matrix)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(CALLS):
            call()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end))
    return statistics.median(found)

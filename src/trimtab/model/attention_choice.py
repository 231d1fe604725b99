"""Which kernel is the fastest for full documents: measured on the card itself, once a process."""

import statistics
from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor

from trimtab.model.attention import attend, attend_full_first
from trimtab.model.attention_rows import SIZES
from trimtab.model.sequence_layout import SequenceLayout

ROWS, HEADS, CALLS, REPETITIONS = 8, 8, 4, 3
SAME = 2e-2
"""Relative distance of outputs and gradients, in half precision, up to which another kernel does the same."""


def rows_pay(layout: SequenceLayout, *, heads: int, size: int) -> bool:
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
    cu_seqlens = torch.arange(0, ROWS * length + 1, length, device=device, dtype=torch.int32)
    layout = SequenceLayout(cu_seqlens, length, None, None, flash4=flash4)
    generator = torch.Generator(device).manual_seed(0)
    made = torch.randn(4, ROWS * length, heads, size, generator=generator, device=device).bfloat16()
    inputs = [each.clone().requires_grad_() for each in made[:3]]
    with torch.enable_grad(), torch.autocast("cuda", enabled=False):
        flat = partial(with_gradients, partial(attend, of=layout, to=layout, causal=True), inputs, made[3])
        rows_layout = layout._replace(full=ROWS)
        rows = partial(
            with_gradients, partial(attend_full_first, layout=rows_layout, causal=True), inputs, made[3]
        )
        try:
            found, truth = rows(), flat()
        except RuntimeError:
            return False
        if not all(distance(one, other) <= SAME for one, other in zip(found, truth, strict=True)):
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
    """Of a call on the device: the median over repetitions."""
    found = []
    for _ in range(REPETITIONS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(CALLS):
            call()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end))
    return statistics.median(found)

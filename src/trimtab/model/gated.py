"""SwiGLU by kernels of its own, as an operator that compiled blocks call without a break.

Its slow twin is `silu(gate) * value` in plain operations, whose gradient PyTorch's compiler writes as a concatenation
of both halves, each number behind a choice between them, at half of the memory's bandwidth.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from trimtab.gpu.triton_runs import triton_runs_on


def swiglu(both: Float[Tensor, "*rows two_width"]) -> Float[Tensor, "*rows width"]:
    """`silu(gate) * value`, the gate in the first half of the last dimension."""
    if both.is_cuda and torch.version.hip is None and both.dtype in (torch.bfloat16, torch.float16):
        rows = both.flatten(0, -2)
        # The operator imports PyTorch's compiler when it is first called, which generating has no use of.
        plain = not (torch.is_grad_enabled() or torch.compiler.is_compiling())
        return (_forward(rows) if plain else swiglu_op(rows)).unflatten(0, both.shape[:-1])
    return swiglu_plain(both)


def swiglu_plain(both: Float[Tensor, "*rows two_width"]) -> Float[Tensor, "*rows width"]:
    """The same in plain operations, on any device."""
    gate, value = both.chunk(2, dim=-1)
    return F.silu(gate) * value


def _forward(both: Tensor) -> Tensor:
    """By the kernel where Triton runs, which is found out here, outside of what is compiled."""
    if not runs_on(both.device):
        return swiglu_plain(both)
    from trimtab.model.gated_kernels import swiglu_forward  # late: needs Triton

    return swiglu_forward(dense(both))


swiglu_op = torch.library.custom_op("trimtab::swiglu", _forward, mutates_args=())


@swiglu_op.register_fake
def _(both: Tensor) -> Tensor:
    return both.new_empty((both.shape[0], both.shape[1] // 2))


@torch.library.custom_op("trimtab::swiglu_backward", mutates_args=())
def swiglu_backward_op(gradient: Tensor, both: Tensor) -> Tensor:
    """The gradient of what `swiglu_op` took."""
    if not runs_on(both.device):
        gate, value = both.float().chunk(2, dim=-1)
        share, given = gate.sigmoid(), gradient.float()
        of_gate = given * value * share * (1 + gate * (1 - share))
        return torch.cat([of_gate, given * gate * share], dim=-1).to(both.dtype)
    from trimtab.model.gated_kernels import swiglu_backward  # late: needs Triton

    return swiglu_backward(dense(gradient), dense(both))


@swiglu_backward_op.register_fake
def _(gradient: Tensor, both: Tensor) -> Tensor:
    return both.new_empty(both.shape)


def runs_on(device: torch.device) -> bool:
    """Whether the kernels do; a seam for tests, in which Triton interprets them."""
    return triton_runs_on(device)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, gradient: Tensor) -> Tensor:
    return swiglu_backward_op(gradient, *ctx.saved_tensors)


swiglu_op.register_autograd(_backward, setup_context=_save)


def dense(x: Tensor) -> Tensor:
    """The kernels read neighbours of a row as neighbours."""
    return x if x.stride(-1) == 1 else x.contiguous()

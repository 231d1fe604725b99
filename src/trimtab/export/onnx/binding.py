"""Binds torch tensors as inputs and outputs of ONNX Runtime without copies."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from trimtab.errors import input_error

TYPES = {
    torch.float32: np.float32,
    torch.float16: np.float16,
    torch.int64: np.int64,
    torch.bool: np.bool_,
}


class Bound(NamedTuple):
    """The beginning of a buffer, read as a tensor of a shape."""

    buffer: Tensor
    shape: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Tensor) -> "Bound":
        """A whole tensor."""
        return cls(tensor.contiguous(), tuple(tensor.shape))


def run_bound(session: Any, inputs: dict[str, Bound], outputs: dict[str, Bound]) -> None:
    """Runs a session of ONNX Runtime once. The device of all buffers is that of the session.

    Raises InputError if the library cannot compute its graph, which is no fault of ours: each was proven.
    """
    binding = session.io_binding()
    for name, bound in inputs.items():
        binding.bind_input(name, *_described(bound))
    for name, bound in outputs.items():
        binding.bind_output(name, *_described(bound))
    on_gpu = any(bound.buffer.is_cuda for bound in inputs.values())
    if on_gpu:
        torch.cuda.current_stream().synchronize()  # ONNX Runtime works in a stream of its own
    try:
        session.run_with_iobinding(binding)
    except Exception as error:  # a library may raise anything on a file of unknown origin
        raise input_error(
            "ONNX Runtime cannot compute a graph of the export",
            got=" ".join(str(error).split())[:200] or type(error).__name__,
            allowed="the folder as the export wrote it",
            fix="export the run again",
        ) from None
    if on_gpu:
        binding.synchronize_outputs()


def _described(bound: Bound) -> tuple[str, int, Any, tuple[int, ...], int]:
    device = bound.buffer.device
    # Of the buffer, which has an address also where the shape holds nothing.
    return device.type, device.index or 0, TYPES[bound.buffer.dtype], bound.shape, bound.buffer.data_ptr()

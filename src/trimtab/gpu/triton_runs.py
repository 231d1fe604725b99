"""Whether kernels written in Triton can be used on a device."""

import warnings
from functools import cache
from importlib.util import find_spec

import torch


@cache
def triton_runs_on(device: torch.device) -> bool:
    """An NVIDIA GPU with bfloat16 tensor cores, and a Triton that works; warns where it is there and does not.

    Triton comes with PyTorch's CUDA builds, but needs a C compiler and Python's headers as well. On AMD's GPUs nobody
    has tried these kernels.
    """
    if device.type != "cuda" or torch.version.hip is not None or find_spec("triton") is None:
        return False
    if torch.cuda.get_device_capability(device) < (8, 0):
        return False
    from trimtab.gpu.trial import failure_on  # late: needs Triton

    failure = failure_on(device)
    if failure is not None:
        warnings.warn(
            f"attention and loss take slower kernels, since Triton does not run here: {failure}", stacklevel=2
        )
    return failure is None

"""Whether Triton can build and launch a kernel at all, found out with a very small one."""
# ruff: noqa: ANN001, ANN201

from typing import no_type_check

import torch
import triton
import triton.language as tl


def failure_on(device: torch.device) -> str | None:
    """What goes wrong with Triton on this device; None if nothing does."""
    try:
        place = torch.zeros(1, dtype=torch.int32, device=device)
        with torch.cuda.device_of(place):
            writing_kernel[(1,)](place)
        written = int(place)
    # Of any kind: a compiler, a linker, a driver or a folder for caches may be missing.
    except Exception as error:
        first_line, *_ = str(error).splitlines() or [""]
        return f"{type(error).__name__}: {first_line}"
    return None if written == 1 else "a kernel did not write what it was to write"


@triton.jit
@no_type_check
def writing_kernel(place):
    """Writes a one."""
    tl.store(place, 1)

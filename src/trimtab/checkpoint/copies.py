"""Copies of tensors as they are at one moment: made where the tensors lie, fetched to host memory later.

Copying inside a GPU takes milliseconds, copying to the host a good part of a second, which training need not wait for.
The slow twin is `tensor_file.snapshot`, which is also what happens where a GPU has no room for the copies.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Shaped, UInt8
from torch import Tensor

from trimtab.checkpoint.disk_space import in_words
from trimtab.checkpoint.tensor_file import DTYPES, assert_separate, snapshot

SPARE_BYTES = 2**30
"""What must stay free on a GPU beside the copies: the steps that run meanwhile may need more than the last ones did."""
STAGE_BYTES = 64 * 2**20
"""Page-locked memory through which copies leave a GPU; only from such memory does a transfer not hold up others."""


@dataclass(slots=True)
class Copies:
    """Tensors of one moment under their names, contiguous, on the device where they were or in host memory."""

    tensors: dict[str, Tensor]
    made: dict[torch.device, torch.cuda.Event] = field(default_factory=dict)
    """For each GPU, when the copies on it are there."""
    out_of_memory: str = ""
    """Why tensors of a GPU were copied to host memory at once; empty if they were not."""


def copy_now(tensors: Mapping[str, Tensor]) -> Copies:
    """Copies that no later change of the originals reaches; on a GPU they are queued after the work at hand."""
    assert_separate(tensors)
    on_gpu = {name: tensor.detach() for name, tensor in tensors.items() if tensor.device.type == "cuda"}
    elsewhere = {name: tensor for name, tensor in tensors.items() if name not in on_gpu}
    copies = Copies({})
    for device in sorted({tensor.device for tensor in on_gpu.values()}, key=str):
        here = {name: tensor for name, tensor in on_gpu.items() if tensor.device == device}
        needed, free = sum(tensor.nbytes for tensor in here.values()), torch.cuda.mem_get_info(device)[0]
        clones = clones_beside(here) if free >= needed + SPARE_BYTES else None
        if clones is None:
            copies.out_of_memory = f"{in_words(needed)} to copy, {in_words(free)} free on {device}"
            elsewhere |= here
            continue
        copies.tensors |= clones
        copies.made[device] = made = torch.cuda.Event()
        made.record(torch.cuda.current_stream(device))
    copies.tensors |= snapshot(elsewhere)
    return copies


def clones_beside(tensors: Mapping[str, Tensor]) -> dict[str, Tensor] | None:
    """Contiguous clones on the tensors' own device; None if its memory does not suffice after all."""
    for name, tensor in tensors.items():
        assert tensor.dtype in DTYPES, (name, tensor.dtype)
    try:
        clones = {
            name: torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
            for name, tensor in tensors.items()
        }
    except torch.OutOfMemoryError:
        return None
    by_type: dict[torch.dtype, list[str]] = {}
    for name, tensor in tensors.items():
        by_type.setdefault(tensor.dtype, []).append(name)
    with torch.no_grad():
        for names in by_type.values():
            # One launch for many tensors: thousands of single ones would take longer than the copying.
            torch._foreach_copy_([clones[name] for name in names], [tensors[name].detach() for name in names])
    return clones


def fetch(copies: Copies) -> dict[str, Tensor]:
    """The copies in host memory. They leave `copies` one by one, so that the memory of a GPU is soon free again."""
    host: dict[str, Tensor] = {}
    for device, made in copies.made.items():
        stage = torch.empty(STAGE_BYTES, dtype=torch.uint8, pin_memory=True)
        stream = torch.cuda.Stream(device)
        stream.wait_event(made)
        with torch.cuda.stream(stream):
            for name in [name for name, tensor in copies.tensors.items() if tensor.device == device]:
                # Nothing else refers to the copy, so its memory is free once it has been brought over.
                host[name] = copy_through(stage, copies.tensors.pop(name), wait=stream.synchronize)
    host |= copies.tensors
    copies.tensors.clear()
    return host


def copy_through(
    stage: UInt8[Tensor, "bytes"], tensor: Shaped[Tensor, "*shape"], *, wait: Callable[[], object]
) -> Shaped[Tensor, "*shape"]:
    """A contiguous tensor in host memory, brought there piece by piece through the bytes of `stage`.

    `wait` returns when what was copied into the stage is there.
    """
    host = torch.empty(tensor.shape, dtype=tensor.dtype)
    if not tensor.numel():
        return host
    source, target = (each.reshape(-1).view(torch.uint8) for each in (tensor, host))
    for start in range(0, source.numel(), stage.numel()):
        piece = source[start : start + stage.numel()]
        landing = stage[: piece.numel()]
        landing.copy_(piece, non_blocking=True)
        wait()
        target[start : start + piece.numel()].copy_(landing)
    return host

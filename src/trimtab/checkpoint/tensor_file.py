"""Tensors to a safetensors file and back: the same tensors always give the same bytes.

The reader is the safetensors library. The writer is our own because the library's neither hashes while it writes,
nor syncs, nor tells a full disk from another error; a test holds it to the library's bytes.
"""

import json
import os
import stat
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

DTYPES = {
    torch.uint64: "U64",
    torch.int64: "I64",
    torch.float64: "F64",
    torch.float32: "F32",
    torch.uint32: "U32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.uint16: "U16",
    torch.int16: "I16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""Names that the format gives to element types, in the order in which tensors lie in the file: the wide ones first,
so that each tensor begins at a multiple of its element's size."""

MAX_HEADER_BYTES = 16 * 2**20
"""No honest header comes near; the library would parse six times as much."""

_METADATA = {"__metadata__": {"format": "pt"}}
"""Transformers refuses safetensors files that do not say this."""

_RANK = {dtype: rank for rank, dtype in enumerate(DTYPES)}


def snapshot(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of the tensors in host memory, each contiguous; later changes of the originals do not reach them."""
    assert_separate(tensors)
    copies = {}
    for name, tensor in tensors.items():
        assert tensor.dtype in DTYPES, (name, tensor.dtype)
        copies[name] = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())
    return copies


def assert_separate(tensors: Mapping[str, Tensor]) -> None:
    """Tied weights are one tensor and come under one name; two names for the same memory are a fault of the caller."""
    spans = []
    for name, tensor in tensors.items():
        if tensor.numel():
            last = sum(
                (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
            )
            begin = tensor.data_ptr()
            spans.append((str(tensor.device), begin, begin + (last + 1) * tensor.element_size(), name))
    spans.sort()
    for before, after in pairwise(spans):
        shared = before[0] == after[0] and after[1] < before[2]
        assert not shared, f"{before[3]} and {after[3]} share memory; pass one of them"


def file_size(tensors: Mapping[str, Tensor]) -> int:
    """Bytes of the file that `file_content` gives."""
    return len(_header(tensors)) + sum(tensor.nbytes for tensor in tensors.values())


def file_content(tensors: Mapping[str, Tensor]) -> Iterator[memoryview]:
    """The bytes of a safetensors file, piece by piece, of contiguous tensors in host memory.

    Source: the safetensors format, https://github.com/huggingface/safetensors#format.
    """
    yield memoryview(_header(tensors))
    for name in _in_file_order(tensors):
        flat = tensors[name].reshape(-1)
        if flat.numel():
            yield memoryview(flat.view(torch.uint8).numpy())


def describe(tensors: Mapping[str, Tensor]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The element type, as the format names it, and the shape of each tensor."""
    return {name: (DTYPES[tensor.dtype], tuple(tensor.shape)) for name, tensor in tensors.items()}


def read_description(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """What `describe` says of the tensors of a file, without reading them; raises SafetensorError as `read_tensors`."""
    _check_header_size(path)
    with safe_open(path, "pt") as file:
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
        return {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in parts.items()}


def read_tensors(path: Path, *, prefix: str = "") -> dict[str, Tensor]:
    """The tensors of a file whose names begin with `prefix`, in memory of their own; raises SafetensorError if the
    file is not well formed."""
    _check_header_size(path)
    with safe_open(path, "pt") as file:
        # Without the copy the tensors would be views of the file, and break when it is cut short.
        names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118 (no mapping)
        return {name: file.get_tensor(name).clone() for name in names}


def _check_header_size(path: Path) -> None:
    mode = os.stat(path).st_mode
    if not (
        stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    ):  # a folder is refused when it is opened; a pipe would wait
        raise SafetensorError("it is a device or a pipe, and no plain file")
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if length > MAX_HEADER_BYTES:
        raise SafetensorError(f"its header has {length} bytes, more than {MAX_HEADER_BYTES}")


def _header(tensors: Mapping[str, Tensor]) -> bytes:
    entries: dict[str, object] = dict(_METADATA)
    start = 0
    for name in _in_file_order(tensors):
        assert name not in _METADATA, name
        dtype, shape = describe({name: tensors[name]})[name]
        stop = start + tensors[name].nbytes
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _in_file_order(tensors: Mapping[str, Tensor]) -> list[str]:
    return sorted(tensors, key=lambda name: (_RANK[tensors[name].dtype], name.encode()))

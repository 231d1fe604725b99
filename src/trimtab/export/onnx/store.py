"""Stores the weights of all graphs of an export in one external file, each tensor once.

ONNX calls this external data. A graph with its weights inside is one message of protobuf, which ends at 2 GB; so all
weights stand outside, whatever their size, and the graphs stay small enough to be read through before they are run.
"""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import torch
from jaxtyping import Shaped
from torch import Tensor

PAGE, LINE = 4096, 64
"""Tensors of a page and more begin at a page, so that they can be mapped from the disk; small ones at a cache line."""


class Place(NamedTuple):
    """Where a tensor stands."""

    offset: int
    length: int
    """Bytes."""
    shape: tuple[int, ...]
    dtype: torch.dtype


class Store:
    """A file that tensors are written into, by name; of those that are tied the first one alone."""

    def __init__(self, path: Path, *, first: int = 0) -> None:
        """`first` is where the first tensor stands."""
        self.path, self.places = path, dict[str, Place]()
        self._end = first
        self._file = open(path, "wb")  # noqa: SIM115

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def put(self, name: str, make: Callable[[], Shaped[Tensor, "..."]]) -> Place:
        """The place of a tensor, which is made and written where the name is new."""
        if name not in self.places:
            tensor = make().detach().cpu().contiguous()
            content = tensor.numpy().tobytes()
            step = PAGE if len(content) >= PAGE else LINE
            start = -(-self._end // step) * step
            self._file.seek(start)
            self._file.write(content)
            self.places[name] = Place(start, len(content), tuple(tensor.shape), tensor.dtype)
            self._end = start + len(content)
        return self.places[name]

    def described(self, name: str) -> Any:
        """The tensor as a graph names it, without its values."""
        import onnx

        place = self.places[name]
        tensor = onnx.TensorProto(name=name, data_type=onnx_type(place.dtype), dims=place.shape)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        said = {"location": self.path.name, "offset": str(place.offset), "length": str(place.length)}
        for key, value in said.items():
            tensor.external_data.add(key=key, value=value)
        return tensor


def onnx_type(dtype: torch.dtype) -> int:
    """The number that ONNX has for a type of torch."""
    from onnx import TensorProto

    return {
        torch.float32: TensorProto.FLOAT,
        torch.float16: TensorProto.FLOAT16,
        torch.float64: TensorProto.DOUBLE,
        torch.uint8: TensorProto.UINT8,
        torch.int8: TensorProto.INT8,
        torch.int32: TensorProto.INT32,
        torch.int64: TensorProto.INT64,
        torch.bool: TensorProto.BOOL,
    }[dtype]

"""A graph of ONNX as it is written down, node by node."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor

from trimtab.export.onnx.store import Store, onnx_type

PRODUCER = "trimtab"
IR_VERSIONS = {17: 8, 18: 8, 20: 9, 21: 10}
"""For each opset the version of the file's form that it came with, which older runtimes read too."""


class Nodes:
    """A graph in the making: names of values in, the name of a new value out.

    `half` says that numbers have 16 bits where nothing else is said.
    """

    def __init__(self, store: Store, *, opset: int, half: bool = False) -> None:
        self.store, self.opset = store, opset
        self.dtype = torch.float16 if half else torch.float32
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._initializers: dict[str, Any] = {}
        self._constants: dict[tuple[Any, ...], str] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The only output of a node."""
        return self.ops(kind, *inputs, count=1, **attributes)[0]

    def ops(self, kind: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        """All outputs of a node."""
        from onnx import helper

        names = [f"{kind}_{len(self.nodes)}_{number}" for number in range(count)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names

    def whole(self, *values: int) -> str:
        """Whole numbers, for sizes and positions."""
        return self._constant(list(values), torch.int64)

    def scalar(self, value: float | int, dtype: torch.dtype | None = None) -> str:
        """One number, by default of the type that the graph computes with."""
        return self._constant(value, dtype or self.dtype)

    def weight(self, name: str, make: Callable[[], Shaped[Tensor, "..."]]) -> str:
        """A tensor in the file of the weights, where it is written once for all graphs."""
        self.store.put(name, make)
        self._initializers.setdefault(name, None)
        return name

    def cast(self, x: str, dtype: torch.dtype) -> str:
        """The numbers in another type."""
        return self.op("Cast", x, to=onnx_type(dtype))

    def add_input(self, name: str, dtype: torch.dtype, shape: Sequence[str | int]) -> str:
        """What is given; sizes that may vary have a name."""
        self.inputs.append(self._value(name, dtype, shape))
        return name

    def add_output(self, name: str, value: str, dtype: torch.dtype, shape: Sequence[str | int]) -> None:
        """What is given back, under its own name."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))
        self.outputs.append(self._value(name, dtype, shape))

    def model(self, name: str) -> Any:
        """The whole graph, checked against what ONNX allows."""
        from onnx import helper

        known = [
            self.store.described(each) if value is None else value
            for each, value in self._initializers.items()
        ]
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, known)
        return helper.make_model(
            graph,
            producer_name=PRODUCER,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=IR_VERSIONS[self.opset],
        )

    def _constant(self, value: Any, dtype: torch.dtype) -> str:
        from onnx import numpy_helper

        key = (str(value), dtype)
        if key not in self._constants:
            name = self._constants[key] = f"constant_{len(self._constants)}"
            self._initializers[name] = numpy_helper.from_array(torch.tensor(value, dtype=dtype).numpy(), name)
        return self._constants[key]

    def _value(self, name: str, dtype: torch.dtype, shape: Sequence[str | int]) -> Any:
        from onnx import helper

        return helper.make_tensor_value_info(name, onnx_type(dtype), list(shape))

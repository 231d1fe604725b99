"""What is checked in an exported folder before ONNX Runtime may see it.

A file in the form of ONNX may name files anywhere on the machine as its weights, operators of other libraries, and
graphs within graphs. An export needs none of them: only what it writes itself is let through.
"""

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from trimtab.errors import InputError, input_error
from trimtab.export.byte_products import FULL, REDUCED
from trimtab.export.plain_files import plain_file, read_object

SETTINGS, WEIGHTS, ENCODER, DECODER = "onnx.json", "model.onnx.data", "encoder.onnx", "decoder.onnx"
KINDS = ("float32", "float16", "int8")
"""Of weights."""
GRAPH_BYTES = 2**26
"""A layer takes about ten kilobytes, and the weights stand elsewhere."""
OPSETS = (17, 18, 20, 21)
_OPERATORS = """
    Add Cast Concat Div DynamicQuantizeLinear Erf Gather Gemm Identity LayerNormalization LessOrEqual MatMul
    MatMulInteger Mul Range ReduceMean Relu Reshape Shape Sigmoid Softmax Split Sqrt Squeeze Sub Tile
    Transpose Unsqueeze Where
"""
OPERATORS = frozenset(_OPERATORS.split())
"""All that an export writes; none of them holds a graph of its own."""
_BYTES = {1: 4, 3: 1, 7: 8, 9: 1, 10: 2}
"""Bytes of a number of each type of tensors."""


class Settings(NamedTuple):
    """What `onnx.json` says that the graphs do not."""

    weights: str
    """One of `KINDS`."""
    largest: int
    """The largest whole number among weights of 8 bits."""
    opset: int
    positions: int
    start: int
    end: int
    pad: int
    unknown: int


def read_settings(folder: Path) -> Settings:
    """The settings of an export; InputError if one is missing or no export has it."""
    said = read_object(folder, SETTINGS)
    rules: dict[str, tuple[Any, ...]] = {"weights": KINDS, "largest": (FULL, REDUCED), "opset": OPSETS}
    for key in Settings._fields:
        value, known = said.get(key), rules.get(key)
        # True is an int.
        is_size = type(value) is int and 0 <= value < 2**31
        if (value not in known or type(value) is bool) if known else not is_size:
            raise input_error(
                f"{folder / SETTINGS}: {key} is not as an export writes it",
                got=repr(value)[:80],
                allowed=" or ".join(map(str, known)) if known else "a whole number",
                fix="export the run again",
            )
    return Settings(*(said[key] for key in Settings._fields))


def check_graphs(folder: Path, settings: Settings) -> dict[str, Any]:
    """The graphs by the names of their files; InputError if one is not what an export writes."""
    size = plain_file(folder, WEIGHTS).stat().st_size
    found = {name: _parsed(plain_file(folder, name, most=GRAPH_BYTES)) for name in (ENCODER, DECODER)}
    for name, model in found.items():
        if told := _strange(model, settings) or _outside(model.graph, size):
            raise refused(folder / name, got=told)
    return found


def check_shapes(folder: Path, graphs: Mapping[str, Any], expected: Mapping[str, int]) -> dict[str, int]:
    """Sizes of the model as its graphs say them; InputError if both graphs or `expected` say other ones."""
    outputs = {each.name: _sizes(each) for each in graphs[DECODER].graph.output}
    caches = [shape for name, shape in outputs.items() if name.startswith("present.")]
    kept = {tuple(shape[1::2]) for shape in caches if len(shape) == 4}
    logits = outputs.get("logits", [])
    if len(kept) != 1 or len(caches) % 2 or len(logits) != 4:
        raise refused(folder / DECODER, got="other outputs than logits and one cache a layer")
    (kv_heads, size), layers = kept.pop(), len(caches) // 2
    said = {"layers": layers, "kv_heads": kv_heads, "size": size, "num_ids": logits[3]}
    names = [f"{number}.{part}" for number in range(layers) for part in ("keys", "values")]
    wanted = {
        (ENCODER, "input"): ["ids", "real"],
        (ENCODER, "output"): [f"source.{each}" for each in names],
        (DECODER, "input"): [
            "tokens",
            "real",
            *(f"{kind}.{each}" for each in names for kind in ("source", "past")),
        ],
        (DECODER, "output"): ["logits", *(f"present.{each}" for each in names)],
    }
    for (name, side), of_side in wanted.items():
        if sorted(each.name for each in getattr(graphs[name].graph, side)) != sorted(of_side):
            raise refused(folder / name, got=f"other {side}s than an export has")
    if others := [key for key, value in expected.items() if key in said and said[key] != value]:
        raise refused(
            folder / DECODER,
            got=", ".join(f"{key} {said[key]}" for key in others),
            allowed=", ".join(f"{key} {expected[key]}" for key in others) + ", as the recipe says",
        )
    return said


def refused(path: Path, *, got: str, allowed: str = "a graph as the export wrote it") -> InputError:
    """The error for a graph that is not one of an export."""
    return input_error(
        f"{path}: not a graph of this export", got=got[:200], allowed=allowed, fix="export the run again"
    )


def _parsed(path: Path) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        return onnx.load_model_from_string(path.read_bytes())
    except (DecodeError, ValueError, TypeError) as error:
        raise refused(path, got=" ".join(str(error).split()) or "no message of protobuf") from None


def _strange(model: Any, settings: Settings) -> str:
    """What no export writes, if anything."""
    graph = model.graph
    versions = [(each.domain, each.version) for each in model.opset_import]
    if versions != [("", settings.opset)]:
        return f"operators of {versions!r}"
    if model.functions or model.training_info or graph.sparse_initializer or graph.quantization_annotation:
        return "functions, training or sparse tensors"
    for node in graph.node:
        if node.domain or node.op_type not in OPERATORS:
            return f"the operator {node.domain}.{node.op_type}"
        if strange := [each.name for each in node.attribute if each.type not in (1, 2, 7)]:
            return f"the attribute {strange[0]!r} of {node.op_type}: no number and no list of whole numbers"
    return "" if graph.node else "no operators"


def _outside(graph: Any, size: int) -> str:
    """Which tensor does not lie inside the file of the weights, if any."""
    for tensor in graph.initializer:
        width, inside = _BYTES.get(tensor.data_type), dict.fromkeys(("location", "offset", "length"), "")
        inside |= {each.key: each.value for each in tensor.external_data}
        if width is None or any(not 0 <= each < 2**31 for each in tensor.dims):
            return f"{tensor.name!r} of type {tensor.data_type} and shape {list(tensor.dims)}"
        if tensor.data_location == 0 and not tensor.external_data:
            continue
        if len(inside) != 3 or inside["location"] != WEIGHTS:
            return f"{tensor.name!r} in {inside['location']!r}"
        numbers = [inside[key] for key in ("offset", "length")]
        if not all(each.isascii() and each.isdigit() and len(each) < 19 for each in numbers):
            return f"{tensor.name!r} at {numbers[0]!r}"
        offset, length = map(int, numbers)
        if length != width * prod(tensor.dims) or offset + length > size:
            return f"{tensor.name!r} of {length} bytes at {offset} in a file of {size}"
    return ""


def _sizes(value: Any) -> list[int]:
    return [each.dim_value for each in value.type.tensor_type.shape.dim]

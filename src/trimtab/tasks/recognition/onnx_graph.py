"""A recognizer's encoder and heads as a graph of ONNX: from the bytes of one image to what its text is read from."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trimtab.config.images import ImageConfig
from trimtab.export.onnx.encoder import encoder_layer
from trimtab.export.onnx.front import ALL, positions_between
from trimtab.export.onnx.layers import SIZE, Rows, gelu, keys_values, norm
from trimtab.export.onnx.nodes import Nodes
from trimtab.export.onnx.rounded import linear
from trimtab.model.block import DecoderBlock, EncoderBlock
from trimtab.model.vision.encoder import VisionEncoder
from trimtab.model.vision.stem import ConvStem, PatchStem
from trimtab.tasks.recognition.model import LineReader
from trimtab.tasks.recognition.onnx_pixels import Pixels, resized_pixels


def image_graph(nodes: Nodes, model: LineReader, config: ImageConfig) -> Any:
    """`image`, uint8 `height width channels`, to `log_probabilities`, `columns ids`, of a CTC head, and for a decoder
    to `source.{layer}.keys` and `.values`, `1 kv_heads patches size`."""
    settings = model.config
    image = nodes.add_input("image", torch.uint8, ["height", "width", config.num_channels])
    pixels = resized_pixels(nodes, image, config, multiple=settings.multiple, patch=settings.patch)
    memory = encoded(nodes, model.vision, pixels, grid=model.grid)
    if model.ctc is not None:
        columns = nodes.op("Reshape", memory, _shape(nodes, pixels.columns, pixels.rows, settings.dim))
        mean = nodes.op("ReduceMean", columns, nodes.whole(1), keepdims=0)
        scores = nodes.op("LogSoftmax", linear(nodes, mean, model.ctc.output, "ctc.output"), axis=SIZE)
        nodes.add_output("log_probabilities", scores, nodes.dtype, ["columns", model.num_ids])
    if settings.has_decoder:
        rows = Rows(nodes.whole(1), nodes.whole(ALL))
        for number, block in enumerate(model.decoder.blocks):
            assert isinstance(block, DecoderBlock)
            kept = keys_values(nodes, memory, block.cross, rows, f"decoder.{number}.cross")
            shape = [1, block.cross.kv_heads, "patches", block.cross.size]
            for part, value in zip(("keys", "values"), kept, strict=True):
                nodes.add_output(f"source.{number}.{part}", value, nodes.dtype, shape)
    return nodes.model("encoder")


def encoded(nodes: Nodes, vision: VisionEncoder, pixels: Pixels, *, grid: tuple[int, int]) -> str:
    """The encoder's output for each patch, `patches dim`, column by column."""
    scaled = nodes.op("Div", pixels.values, nodes.scalar(127.5))
    cells = _stem(nodes, vision.stem, nodes.op("Sub", scaled, nodes.scalar(1.0)), pixels)
    x = nodes.op("Add", cells, _places(nodes, vision, pixels, grid=grid))
    registers = vision.registers
    if registers is not None:
        table = nodes.weight("vision.registers", lambda: registers.weight.to(nodes.dtype))
        x = nodes.op("Concat", table, x, axis=0)
    rows = Rows(nodes.whole(1), nodes.whole(ALL))
    for number, block in enumerate(vision.stack.blocks):
        assert isinstance(block, EncoderBlock)
        x = encoder_layer(nodes, x, block, rows, bias=nodes.scalar(0.0), name=f"vision.{number}")
    x = norm(nodes, x, vision.stack.norm, "vision.norm")
    if registers is None:
        return x
    end = nodes.op("Shape", x, start=0, end=1)
    return nodes.op("Slice", x, nodes.whole(registers.num_embeddings), end, nodes.whole(0))


def _stem(nodes: Nodes, stem: PatchStem | ConvStem, x: str, pixels: Pixels) -> str:
    """`channels height width` to `patches dim`, column by column. The image is alone, so that nothing is masked."""
    match stem:
        case PatchStem():
            (height, width), channels = (
                stem.patch,
                stem.project.in_features // (stem.patch[0] * stem.patch[1]),
            )
            sizes = [
                nodes.whole(channels),
                pixels.rows,
                nodes.whole(height),
                pixels.columns,
                nodes.whole(width),
            ]
            cut = nodes.op("Reshape", x, nodes.op("Concat", *sizes, axis=0))
            cells = nodes.op("Transpose", cut, perm=[3, 1, 0, 2, 4])
        case ConvStem():
            x = nodes.op("Unsqueeze", x, nodes.whole(0))
            for number, (convolution, normed) in enumerate(zip(stem.convolutions, stem.norms, strict=True)):
                assert isinstance(convolution, nn.Conv2d)
                x = _convolved(nodes, x, convolution, f"vision.stem.{number}")
                x = nodes.op("Transpose", x, perm=[0, 2, 3, 1])
                x = gelu(nodes, norm(nodes, x, normed, f"vision.stem.{number}.norm"))
                x = nodes.op("Transpose", x, perm=[0, 3, 1, 2])
            cells = nodes.op("Transpose", x, perm=[0, 3, 2, 1])
    flat = nodes.op("Reshape", cells, nodes.whole(ALL, stem.project.in_features))
    return linear(nodes, flat, stem.project, "vision.stem.project")


def _convolved(nodes: Nodes, x: str, module: nn.Conv2d, name: str) -> str:
    kept = dict(module.named_parameters())
    values = [nodes.weight(f"{name}.{part}", lambda part=part: kept[part].to(nodes.dtype)) for part in kept]
    edge = [int(each) for each in module.padding]
    strides = [int(each) for each in module.stride]
    return nodes.op("Conv", x, *values, kernel_shape=[*module.kernel_size], strides=strides, pads=edge * 2)


def _places(nodes: Nodes, vision: VisionEncoder, pixels: Pixels, *, grid: tuple[int, int]) -> str:
    """What the place of each patch adds, whatever kind of positions it has: a table of all places of the largest
    image."""
    rows, columns = (positions_between(nodes, nodes.whole(0), each) for each in (pixels.rows, pixels.columns))
    starts = nodes.op("Mul", rows, nodes.whole(grid[1]))
    place = nodes.op("Add", nodes.op("Unsqueeze", columns, nodes.whole(1)), starts)
    table = nodes.weight("vision.places", lambda: _table(vision, grid).to(nodes.dtype))
    return nodes.op("Gather", table, nodes.op("Reshape", place, nodes.whole(ALL)))


@torch.no_grad()
def _table(vision: VisionEncoder, grid: tuple[int, int]) -> Float[Tensor, "places dim"]:
    rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
    return vision.places(rows.flatten(), columns.flatten())


def _shape(nodes: Nodes, first: str, second: str, third: int) -> str:
    return nodes.op("Concat", first, second, nodes.whole(third), axis=0)

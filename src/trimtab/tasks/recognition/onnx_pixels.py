"""The pixels of an image as nodes of ONNX: Pillow's bicubic resize to the size of the recipe, and the padding of
`images.pixels`, to the last bit.

ONNX has an operator Resize, with antialiasing from set 18 on, but ONNX Runtime rounds its coefficients otherwise than
Pillow, which moves some pixels by a level; and with scales in place of sizes the image has another width. So this
writes down the coefficients of Pillow (`precompute_coeffs` and `normalize_coeffs_8bpc` in its `Resample.c`) and its
sums of whole numbers.
"""

from typing import NamedTuple

import torch

from trimtab.config.images import ImageConfig
from trimtab.export.onnx.front import positions_between
from trimtab.export.onnx.nodes import Nodes

WIDE, NARROW = torch.float64, torch.int32
CUBIC, SUPPORT = -0.5, 2.0
"""The coefficient of Pillow's bicubic filter, and how far it reaches in pixels of the coarser side."""
BITS = 22
"""Of a coefficient behind the point, in Pillow's fixed-point arithmetic for 8 bits."""


class Pixels(NamedTuple):
    """An image as the model reads it."""

    values: str
    """`channels height width`, whole numbers from 0 to 255 in float32."""
    rows: str
    columns: str
    """Patches in a column and in a row, each a list of one."""


def resized_pixels(
    nodes: Nodes, image: str, config: ImageConfig, *, multiple: tuple[int, int], patch: tuple[int, int]
) -> Pixels:
    """`image`, uint8 `height width channels`, at the size of the recipe and padded, as `pixels.fitted` and
    `pixels.padded` do it."""
    height, width = (nodes.op("Shape", image, start=axis, end=axis + 1) for axis in (0, 1))
    tall, wide = _fitted_size(nodes, height, width, config)
    x = nodes.op("Transpose", nodes.cast(image, NARROW), perm=[2, 0, 1])
    x = _resampled(nodes, x, width, wide, axis=2)
    x = nodes.cast(_resampled(nodes, x, height, tall, axis=1), torch.float32)
    paper = _median_of_edges(nodes, x, tall, wide, channels=config.num_channels)
    sizes = [_rounded_up(nodes, each, side) for each, side in zip((tall, wide), multiple, strict=True)]
    shape = nodes.op("Concat", nodes.whole(config.num_channels), *sizes, axis=0)
    x = _placed(nodes, x, nodes.op("Expand", paper, shape), (tall, wide), sizes)
    rows, columns = (
        nodes.op("Div", each, nodes.whole(side)) for each, side in zip(sizes, patch, strict=True)
    )
    return Pixels(x, rows, columns)


def _fitted_size(nodes: Nodes, height: str, width: str, config: ImageConfig) -> tuple[str, str]:
    """`pixels.fitted_size` and the narrowing of `pixels.fitted`, with Python's numbers: doubles, half to even."""
    tall, wide = (nodes.cast(each, WIDE) for each in (height, width))
    size = nodes.scalar(float(config.size), WIDE)
    if config.fit == "height":
        found = [nodes.whole(config.size), _whole(nodes, nodes.op("Div", nodes.op("Mul", wide, size), tall))]
    else:
        scale = nodes.op("Div", size, nodes.op("Max", tall, wide))
        found = [_whole(nodes, nodes.op("Mul", each, scale)) for each in (tall, wide)]
    return found[0], nodes.op("Min", found[1], nodes.whole(config.widest))


def _whole(nodes: Nodes, number: str) -> str:
    found = nodes.cast(nodes.op("Round", number), torch.int64)
    return nodes.op("Max", found, nodes.whole(1))


def _resampled(nodes: Nodes, x: str, size: str, wanted: str, *, axis: int) -> str:
    """One pass of Pillow's resize, of `size` pixels of an axis to `wanted`; int32, as all of its arithmetic is."""
    places, weights = _windows(nodes, size, wanted)
    if axis == 1:
        weights = nodes.op("Unsqueeze", weights, nodes.whole(2))
    products = nodes.op("Mul", nodes.op("Gather", x, places, axis=axis), weights)
    sums = nodes.op("ReduceSum", products, nodes.whole(axis + 1), keepdims=0)
    more = nodes.op("Add", sums, nodes.scalar(1 << (BITS - 1), NARROW))
    # What is negative is 0 in the end, whichever way a division rounds it.
    levels = nodes.op("Div", more, nodes.scalar(1 << BITS, NARROW))
    return nodes.op("Clip", levels, nodes.scalar(0, NARROW), nodes.scalar(255, NARROW))


def _windows(nodes: Nodes, size: str, wanted: str) -> tuple[str, str]:
    """Which old pixels each new one is made of, and their coefficients in fixed point; both `wanted window`."""
    scale = nodes.op("Div", nodes.cast(size, WIDE), nodes.cast(wanted, WIDE))
    coarser = nodes.op("Max", scale, nodes.scalar(1.0, WIDE))
    half, support = nodes.scalar(0.5, WIDE), nodes.op("Mul", coarser, nodes.scalar(SUPPORT, WIDE))
    new = nodes.cast(positions_between(nodes, nodes.whole(0), wanted), WIDE)
    center = nodes.op("Mul", nodes.op("Add", new, half), scale)
    first = nodes.cast(nodes.op("Add", nodes.op("Sub", center, support), half), torch.int64)
    first = nodes.op("Max", first, nodes.whole(0))
    window = nodes.op("Mul", nodes.cast(nodes.op("Ceil", support), torch.int64), nodes.whole(2))
    steps = positions_between(nodes, nodes.whole(0), nodes.op("Add", window, nodes.whole(1)))
    places = nodes.op("Add", nodes.op("Unsqueeze", first, nodes.whole(1)), steps)
    away = nodes.op("Sub", nodes.cast(places, WIDE), nodes.op("Unsqueeze", center, nodes.whole(1)))
    away = nodes.op("Mul", nodes.op("Add", away, half), nodes.op("Reciprocal", coarser))
    inside = nodes.op("Less", places, size)
    weights = nodes.op("Where", inside, _cubic(nodes, nodes.op("Abs", away)), nodes.scalar(0.0, WIDE))
    shares = nodes.op("Div", weights, nodes.op("ReduceSum", weights, nodes.whole(1), keepdims=1))
    scaled = nodes.op("Mul", shares, nodes.scalar(float(1 << BITS), WIDE))
    # A cast drops what is behind the point, as C does, so that halves go away from zero.
    fixed = nodes.cast(nodes.op("Add", scaled, nodes.op("Mul", nodes.op("Sign", scaled), half)), NARROW)
    return nodes.op("Min", places, nodes.op("Sub", size, nodes.whole(1))), fixed


def _cubic(nodes: Nodes, x: str) -> str:
    """Keys' kernel of distances that are not negative (IEEE ASSP 29(6), 1981, equation 15)."""

    def number(value: float) -> str:
        return nodes.scalar(value, WIDE)

    near = nodes.op("Sub", nodes.op("Mul", x, number(CUBIC + 2)), number(CUBIC + 3))
    near = nodes.op("Add", nodes.op("Mul", nodes.op("Mul", near, x), x), number(1.0))
    far = nodes.op("Add", nodes.op("Mul", nodes.op("Sub", x, number(5.0)), x), number(8.0))
    far = nodes.op("Mul", nodes.op("Sub", nodes.op("Mul", far, x), number(4.0)), number(CUBIC))
    outer = nodes.op("Where", nodes.op("Less", x, number(SUPPORT)), far, number(0.0))
    return nodes.op("Where", nodes.op("Less", x, number(1.0)), near, outer)


def _median_of_edges(nodes: Nodes, x: str, tall: str, wide: str, *, channels: int) -> str:
    """The median color of the pixels of all four sides, cut to a whole level: `channels 1 1`."""
    sides = []
    for axis in (1, 2):
        for place in (0, -1):
            at = nodes.op("Gather", x, nodes.scalar(place, torch.int64), axis=axis)
            sides.append(nodes.op("Reshape", at, nodes.whole(channels, -1)))
    # As many pixels as twice height and width, so that there are always two in the middle.
    half = nodes.op("Add", tall, wide)
    upper = nodes.ops("TopK", nodes.op("Concat", *sides, axis=1), _one_more(nodes, half), count=2, axis=1)[0]
    middle = nodes.op("Concat", nodes.op("Sub", half, nodes.whole(1)), half, axis=0)
    mean = nodes.op("ReduceMean", nodes.op("Gather", upper, middle, axis=1), nodes.whole(1), keepdims=1)
    return nodes.op("Unsqueeze", nodes.op("Floor", mean), nodes.whole(2))


def _one_more(nodes: Nodes, number: str) -> str:
    return nodes.op("Add", number, nodes.whole(1))


def _rounded_up(nodes: Nodes, size: str, multiple: int) -> str:
    more = nodes.op("Add", size, nodes.whole(multiple - 1))
    return nodes.op("Mul", nodes.op("Div", more, nodes.whole(multiple)), nodes.whole(multiple))


def _placed(nodes: Nodes, x: str, paper: str, own: tuple[str, str], sizes: list[str]) -> str:
    """The image in the upper left corner of a sheet of paper."""
    for axis, (size, whole) in enumerate(zip(own, sizes, strict=True), 1):
        # What is left of the sheet: beside the rows of the image first as wide as it, then in full height.
        rest = nodes.op("Slice", paper, size, whole, nodes.whole(axis))
        if axis == 1:
            rest = nodes.op("Slice", rest, nodes.whole(0), own[1], nodes.whole(2))
        x = nodes.op("Concat", x, rest, axis=axis)
    return x

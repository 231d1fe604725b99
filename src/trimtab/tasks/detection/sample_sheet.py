"""What a detector found in some validation images, drawn into them."""

from collections.abc import Sequence

from PIL import Image, ImageDraw

from trimtab.tasks.detection.average_precision import Found
from trimtab.tasks.images.sheet import sheet_of

SIDE = 480
"""Pixels of the longer side of an image on the sheet."""
COLUMNS = 2
TRUE, FOUND = (46, 160, 67, 90), (214, 39, 40, 255)
"""Red, green, blue and opacity: true objects are filled, predictions are outlined."""


def sample_sheet(images: Sequence[Image.Image], true: Sequence[Found], found: Sequence[Found]) -> bytes:
    """The images on one sheet, as a PNG file: true boxes as green areas, predicted ones as red outlines.

    Boxes are left, top, right and bottom in pixels of their image.
    """
    marked = [_marked(*each) for each in zip(images, true, found, strict=True)]
    return sheet_of(marked, columns=COLUMNS)


def _marked(image: Image.Image, true: Found, found: Found) -> Image.Image:
    scale = SIDE / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    below = image.convert("RGB").resize(size, Image.Resampling.BILINEAR).convert("RGBA")
    above = Image.new("RGBA", size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(above)
    for box in (true.boxes * scale).tolist():
        draw.rectangle(box, fill=TRUE)
    for box in (found.boxes * scale).tolist():
        draw.rectangle(box, outline=FOUND)
    return Image.alpha_composite(below, above).convert("RGB")

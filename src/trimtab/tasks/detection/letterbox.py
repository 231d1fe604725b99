"""How an image of any size comes to the canvas of a model, and how boxes come there and back.

Training, evaluation, prediction and export all go through `Letterbox`: what goes wrong where two places do the same sum
a little differently is boxes that are shifted by the padding (D-FINE issue 139, ultralytics pull request 23967).
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from PIL import Image

from trimtab.config.canvas import LARGEST_SIDE, CanvasConfig

FILL = (124, 116, 104)
"""The mean color of ImageNet, which normalization makes zero, for what the image does not cover."""
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's pixels, red, green and blue, from 0 to 1; what pretrained backbones were normalized by."""


@dataclass(frozen=True, slots=True)
class Letterbox:
    """An image of `width` x `height` pixels, resized to `inner_width` x `inner_height`, in the upper left corner of a
    canvas. Both scales are those of whole pixels, so that boxes move exactly as the pixels do."""

    width: int
    height: int
    inner_width: int
    inner_height: int
    canvas_width: int
    canvas_height: int

    @classmethod
    def of(cls, width: int, height: int, config: CanvasConfig) -> "Letterbox":
        """The letterbox of an image for the canvas of a recipe."""
        canvas_width, canvas_height = canvas_of(width, height, config)
        if config.fit == "squash":
            return cls(width, height, canvas_width, canvas_height, canvas_width, canvas_height)
        scale = min(canvas_width / width, canvas_height / height)
        inner = [
            min(most, max(1, round(side * scale)))
            for side, most in ((width, canvas_width), (height, canvas_height))
        ]
        return cls(width, height, *inner, canvas_width, canvas_height)

    @property
    def canvas(self) -> tuple[int, int]:
        """Height and width of the canvas."""
        return self.canvas_height, self.canvas_width

    def place(self, image: Image.Image) -> np.ndarray:
        """The canvas with the image on it, `height width 3`, uint8."""
        resized = image.convert("RGB").resize(
            (self.inner_width, self.inner_height), Image.Resampling.BILINEAR
        )
        out = np.empty((self.canvas_height, self.canvas_width, 3), np.uint8)
        out[:] = FILL
        out[: self.inner_height, : self.inner_width] = np.asarray(resized)
        return out

    def to_canvas(self, boxes: Float[np.ndarray, "boxes 4"]) -> Float[np.ndarray, "boxes 4"]:
        """Boxes (left, top, right, bottom) in pixels of the image, as shares of the canvas."""
        return boxes * self._factors()

    def from_canvas(self, boxes: Float[np.ndarray, "boxes 4"]) -> Float[np.ndarray, "boxes 4"]:
        """The inverse of `to_canvas`: shares of the canvas in pixels of the image."""
        return boxes / self._factors()

    def inside(self, boxes: Float[np.ndarray, "boxes 4"]) -> Float[np.ndarray, "boxes 4"]:
        """Boxes in pixels of the image, cut off at its edges."""
        return boxes.clip(0, [self.width, self.height, self.width, self.height])

    def _factors(self) -> np.ndarray:
        x = self.inner_width / self.width / self.canvas_width
        y = self.inner_height / self.height / self.canvas_height
        return np.array([x, y, x, y], np.float64)


def canvas_of(width: int, height: int, config: CanvasConfig) -> tuple[int, int]:
    """Width and height of the canvas of an image."""
    if config.fit != "native":
        return config.size, config.size
    multiple = config.multiple
    ratio = math.sqrt(width / height)
    wide = _multiple_of(config.size * ratio, multiple)
    # What rounding gave to one side is taken from the other, so that the number of pixels stays that of the recipe.
    high = _multiple_of(config.size * config.size / wide, multiple)
    return wide, high


def _multiple_of(side: float, multiple: int) -> int:
    most = LARGEST_SIDE // multiple
    return min(most, max(1, round(side / multiple))) * multiple


def corners(boxes: Float[np.ndarray, "boxes 4"]) -> Float[np.ndarray, "boxes 4"]:
    """Center, width and height as left, top, right, bottom."""
    half = boxes[:, 2:] / 2
    return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)


def centered(boxes: Float[np.ndarray, "boxes 4"]) -> Float[np.ndarray, "boxes 4"]:
    """Left, top, right, bottom as center, width and height."""
    return np.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], axis=1)

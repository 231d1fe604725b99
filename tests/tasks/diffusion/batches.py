"""A batch of images without a run."""

import numpy as np

from tests.diffusion_run import CLASSES, draw_shape
from trimtab.tasks.images.square_batches import SquareBatch, assembled


def shapes(count: int) -> SquareBatch:
    """Disks and squares in turn."""
    classes = np.arange(count) % 2
    pixels = np.stack([np.asarray(draw_shape(CLASSES[each], seed=n))[None] for n, each in enumerate(classes)])
    return SquareBatch(**assembled(pixels, classes, np.arange(count, dtype=np.uint64)))

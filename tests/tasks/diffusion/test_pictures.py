import io

import numpy as np
from PIL import Image

from trimtab.tasks.diffusion import pictures
from trimtab.tasks.diffusion.pictures import grid_of, nearest, png_of


def test_a_grid_has_every_image_in_its_place():
    images = np.arange(3, dtype=np.uint8).reshape(3, 1, 1, 1) + np.zeros((3, 4, 5, 1), np.uint8)
    grid = grid_of(images, columns=2)
    assert grid.shape == (2 * 6 + 2, 2 * 7 + 2, 1)
    assert (grid[2:6, 2:7] == 0).all()
    assert (grid[2:6, 9:14] == 1).all()
    assert (grid[8:12, 2:7] == 2).all()
    assert (grid[8:12, 9:14] == 255).all()


def test_a_png_file_has_the_pixels():
    for channels in (1, 3):
        pixels = np.random.default_rng(1).integers(0, 256, (6, 4, channels), dtype=np.uint8)
        with Image.open(io.BytesIO(png_of(pixels))) as image:
            assert np.array_equal(np.asarray(image).reshape(pixels.shape), pixels)


def test_the_nearest_is_that_of_all_differences(monkeypatch):
    monkeypatch.setattr(pictures, "AT_ONCE", 90)  # three at once
    draw = np.random.default_rng(1)
    images, among = (draw.integers(0, 256, (count, 30), dtype=np.uint8) for count in (5, 17))
    numbers, distances = nearest(images, among)
    slow = np.sqrt(np.square(images[:, None].astype(float) - among[None]).mean(2))
    assert numbers.tolist() == slow.argmin(1).tolist()
    np.testing.assert_allclose(distances, slow.min(1), rtol=1e-5)

import pickle

import numpy as np
import pytest
from PIL import Image

from tests.diffusion_run import diffusion_recipe
from tests.image_run import sources_of
from trimtab.errors import InputError
from trimtab.tasks.images.squares import packed_row, unpacked
from trimtab.types import Ragged


def test_what_is_read_at_a_position_is_a_function_of_it(square_parts):
    feed = square_parts.datasets.feed
    whole = feed.chunk(start=40, count=20)
    again = pickle.loads(pickle.dumps(feed)).chunk(start=50, count=5)
    assert np.array_equal(whole.source.between(10, 15).values, again.source.values)
    assert np.array_equal(whole.target.values[10:15], again.target.values)


def test_an_image_has_other_noise_in_every_epoch_and_the_same_pixels(square_parts):
    datasets = square_parts.datasets
    size = datasets.positions_per_epoch
    found = {}
    for epoch in (0, 1):
        chunk = datasets.feed.chunk(start=epoch * size, count=size)
        for place, line in enumerate(chunk.line.tolist()):
            found.setdefault(line, []).append(chunk.source.row(place))
    assert len(found) == size
    for first, second in found.values():
        assert np.array_equal(first[8:], second[8:])
        assert not np.array_equal(first[:8], second[:8])


def test_a_damaged_image_is_dropped_in_training_and_refused_in_validation(tmp_path, own_cache):
    diffusion_recipe(tmp_path)
    (tmp_path / "train" / "disk" / "000.png").write_bytes(b"damaged")
    _, datasets = sources_of(tmp_path)
    assert [each.reason for each in datasets.sample.dropped] == ["unreadable image"]
    Image.new("L", (1, 1)).save(tmp_path / "valid" / "square" / "001.png")
    with pytest.raises(InputError, match=r"data.valid: .*001.png: too small"):
        sources_of(tmp_path)


def test_a_class_that_is_not_trained_on_is_refused(tmp_path, own_cache):
    diffusion_recipe(tmp_path)
    (tmp_path / "valid" / "disk").rename(tmp_path / "valid" / "ring")
    with pytest.raises(InputError, match=r"data.valid: .*ring.*a class that the training data does not have"):
        sources_of(tmp_path)


def test_a_row_of_bytes_comes_back_as_key_and_pixels():
    pixels = np.random.default_rng(1).integers(0, 256, (3, 16, 16, 1), dtype=np.uint8)
    numbers = [5, 2**64 - 1, 0]
    rows = [packed_row(key, image) for key, image in zip(numbers, pixels, strict=True)]
    offsets = np.arange(4) * len(rows[0])
    keys, images = unpacked(Ragged(np.concatenate(rows), offsets), side=16, channels=1)
    assert keys.tolist() == numbers
    assert np.array_equal(images, pixels.transpose(0, 3, 1, 2))

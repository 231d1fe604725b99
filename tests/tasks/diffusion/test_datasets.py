import pickle

import numpy as np
import pytest
from PIL import Image

from tests.diffusion_run import diffusion_recipe
from tests.image_run import sources_of
from trimtab.errors import InputError


def test_what_is_read_at_a_position_is_a_function_of_it(opened):
    feed = opened[1].feed
    whole = feed.chunk(start=40, count=20)
    again = pickle.loads(pickle.dumps(feed)).chunk(start=50, count=5)
    assert np.array_equal(whole.source.between(10, 15).values, again.source.values)
    assert np.array_equal(whole.target.values[10:15], again.target.values)


def test_an_image_has_other_noise_in_every_epoch_and_the_same_pixels(opened):
    datasets = opened[1]
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


def test_without_classes_there_is_only_the_number_for_none(tmp_path, own_cache):
    diffusion_recipe(
        tmp_path, **{"data.train": [{"images": "train/disk"}], "data.valid": {"images": "valid/disk"}}
    )
    _, datasets = sources_of(tmp_path)
    assert datasets.labels.names == ()
    assert datasets.no_class == 0
    assert set(datasets.sample.target.values.tolist()) == {0}
    assert "without classes" in datasets.epoch_size


def test_the_mean_square_is_that_of_the_pixels(opened):
    datasets = opened[1]
    pixels = np.stack([datasets.feed.pixels(0, line) for line in range(48)]) / 127.5 - 1
    assert datasets.second_moment == pytest.approx(np.square(pixels).mean(), rel=0.01)

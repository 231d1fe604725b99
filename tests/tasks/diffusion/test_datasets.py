import numpy as np
import pytest

from tests.diffusion_run import diffusion_recipe
from tests.image_run import sources_of
from trimtab.tasks.images.feed import ImagePlace


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
    pixels = np.stack([datasets.feed.pixels(ImagePlace(0, line, 0)) for line in range(48)]) / 127.5 - 1
    assert datasets.second_moment == pytest.approx(np.square(pixels).mean(), rel=0.01)

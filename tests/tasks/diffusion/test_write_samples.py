import json

import numpy as np
import pytest
from PIL import Image

from trimtab.errors import InputError
from trimtab.progress import Silent
from trimtab.tasks.diffusion.write_samples import SampleOptions, write_samples


def test_samples_are_written_with_their_classes_and_nearest_training_images(diffusion_run, tmp_path):
    out = tmp_path / "samples"
    asked = SampleOptions(count=3, nearest=True, steps=2)
    told = write_samples(diffusion_run, out, asked=asked, progress=Silent())
    assert told.startswith("6 images")
    lines = [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]
    assert [line["label"] for line in lines] == ["disk"] * 3 + ["square"] * 3
    assert all(line["distance"] > 0 and line["nearest"].endswith(".png") for line in lines)
    with Image.open(out / lines[4]["image"]) as image:
        pixels = np.asarray(image)
    with Image.open(out / "grid.png") as grid:
        assert grid.size == (3 * 18 + 2, 2 * 18 + 2)
        assert np.array_equal(np.asarray(grid)[20:36, 20:36], pixels)
    with Image.open(out / "nearest.png") as grid:
        assert grid.size == (3 * 18 + 2, 4 * 18 + 2)
    with pytest.raises(InputError, match="is not empty"):
        write_samples(diffusion_run, out, asked=asked, progress=Silent())


def test_of_an_autoencoder_images_are_written_above_what_came_back(autoencoder_run, tmp_path):
    told = write_samples(autoencoder_run, tmp_path / "out", asked=SampleOptions(count=3), progress=Silent())
    assert "PSNR" in told
    with Image.open(tmp_path / "out" / "reconstructions.png") as grid:
        assert grid.size == (3 * 18 + 2, 2 * 18 + 2)
    with pytest.raises(InputError, match="does not sample new ones"):
        write_samples(
            autoencoder_run, tmp_path / "more", asked=SampleOptions(nearest=True), progress=Silent()
        )

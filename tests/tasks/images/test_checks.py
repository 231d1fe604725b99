from dataclasses import replace

import torch

from trimtab.tasks.images.checks import data_checks
from trimtab.types import DroppedExample


def test_grey_images_in_three_channels_are_told(square_parts):
    from trimtab.tasks.images.squares import KEY
    from trimtab.types import Ragged

    parts = replace(square_parts)
    assert [*data_checks(parts)] == []
    rows = parts.datasets.sample.source
    images = rows.values.reshape(len(rows), -1)
    colored = images[:, KEY:].repeat(3, axis=1)
    wide = torch.cat([torch.from_numpy(images[:, :KEY]), torch.from_numpy(colored)], dim=1).numpy()
    source = Ragged(wide.reshape(-1), torch.arange(len(rows) + 1).numpy() * wide.shape[1])
    parts.datasets = replace(parts.datasets, sample=replace(parts.datasets.sample, source=source))
    data = parts.recipe.data.model_copy(
        update={"images": parts.recipe.data.images.model_copy(update={"channels": "rgb"})}
    )
    parts.recipe = parts.recipe.model_copy(update={"data": data})
    assert [each.code for each in data_checks(parts)] == ["D213"]
    source.values[9] ^= 1
    parts.datasets = replace(parts.datasets)
    assert [*data_checks(parts)] == []


def test_images_that_are_dropped_are_named(square_parts):
    parts = replace(square_parts)
    sample = parts.datasets.sample
    bad = DroppedExample(0, 3, "too small")
    parts.datasets = replace(parts.datasets, sample=replace(sample, dropped=(bad,) * 20))
    found = next(data_checks(parts))
    assert found.code == "D202"
    assert f"the first is {parts.datasets.corpora[0].pair(3)[0]} (too small)" in found.message

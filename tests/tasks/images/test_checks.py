from dataclasses import replace

import torch

from trimtab.tasks.images.checks import data_checks


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

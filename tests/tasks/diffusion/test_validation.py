import time

import numpy as np
import pytest
import torch

from trimtab.tasks.diffusion.validation import (
    example_losses,
    in_bands,
    loss_of,
    name_of_band,
    samples_of,
    validated,
)
from trimtab.tasks.task import Moment


def test_the_loss_of_a_set_is_the_same_each_time_and_however_it_is_cut(parts):
    valid = parts.datasets.valid["valid"]
    torch.manual_seed(1)
    first = loss_of(parts, parts.model, valid)
    torch.manual_seed(2)
    assert loss_of(parts, parts.model, valid) == first
    bands = np.arange(valid.rows) % 4
    slow = [
        in_bands(parts, parts.model, valid, np.array([row]), bands[row : row + 1])[0]
        for row in range(valid.rows)
    ]
    assert first == pytest.approx(sum(slow) / valid.rows, rel=1e-5)


def test_what_a_validation_tells(parts):
    valid = parts.datasets.valid["valid"]
    moment = Moment(loss=1.0, started=time.perf_counter(), first=True, share=0.5, input_matters=False)
    found = validated(parts, parts.model, valid, moment)
    assert found.picture.startswith(b"\x89PNG")
    assert [*found.scores][:4] == [name_of_band(band) for band in range(4)]
    assert found.scores["lines"] == 16
    ill = validated(parts, parts.model, valid, Moment(**{**_fields(moment), "loss": float("nan")}))
    assert [each.code for each in ill.findings]
    assert not ill.picture


def _fields(moment):
    names = ("loss", "started", "first", "share", "input_matters")
    return {name: getattr(moment, name) for name in names}


def test_a_grid_has_a_row_of_the_same_noise_for_each_class(parts):
    grid = samples_of(parts, parts.model)
    assert grid.shape == (2 * 18 + 2, 2 * 18 + 2, 1)
    # An untrained model hardly knows classes: with the same noise rows look alike.
    rows = grid[2:18].astype(int), grid[20:36].astype(int)
    assert np.abs(rows[0] - rows[1]).max() <= 3


def test_the_losses_of_the_examples_of_a_step_are_those_of_the_step(parts):
    window = parts.examples.between(0, 8)
    found = example_losses(parts, window)
    (batch,) = parts.batching.cut(window)
    assert float(parts.stepper.objective(batch).loss) == pytest.approx(found.loss.sum(), rel=1e-5)
    assert found.targets.tolist() == [1] * 8

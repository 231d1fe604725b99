import math

import pytest
import torch

from trimtab.build import build
from trimtab.tasks.recognition.building import largest, untrained


@pytest.mark.parametrize("which", ["opened", "opened_both"])
def test_an_untrained_model_loses_what_one_that_knows_nothing_does(which, request):
    parts = build(*request.getfixturevalue(which))
    parts.model.eval()
    batches = parts.examples.first()
    with torch.no_grad():
        loss = sum(float(parts.stepper.objective(batch).loss) for batch in batches)
    loss /= sum(batch.num_targets for batch in batches)
    expected, name = untrained(parts.datasets)
    assert loss == pytest.approx(expected, rel=0.1)
    assert (name == "ln(characters)") == (which == "opened_both")
    if which == "opened_both":
        assert expected == math.log(parts.datasets.charset.num_ids)


def test_the_grid_of_places_holds_the_largest_image(opened):
    recipe, datasets = opened
    parts = build(recipe, datasets)
    assert largest(recipe) == (16, 128)
    assert parts.model.grid == (1, 32)

import math

import pytest
import torch

from trimtab.build import build
from trimtab.tasks.recognition.building import largest, plan_batches, untrained


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


def test_a_step_has_a_batch_for_each_rank(opened):
    recipe, datasets = opened
    given = {"packed": False, "device": torch.device("cpu")}
    assert [plan_batches(recipe, datasets, **given, ranks=ranks).num_batches for ranks in (1, 3)] == [1, 3]


def test_all_layers_are_computed_again_with_the_same_gradients(opened_both):
    recipe, datasets = opened_both
    gradients = []
    for recompute in ("none", "block"):
        step = recipe.step.model_copy(update={"recompute": recompute})
        parts = build(recipe.model_copy(update={"step": step}), datasets)
        calls = [0]
        for block in parts.model.blocks:
            block.register_forward_pre_hook(lambda *_, calls=calls: calls.__setitem__(0, calls[0] + 1))
        parts.stepper.objective(parts.examples.few()).objective.backward()
        assert calls[0] == len(parts.model.blocks) * (2 if recompute == "block" else 1)
        gradients.append([each.grad for each in parts.model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))

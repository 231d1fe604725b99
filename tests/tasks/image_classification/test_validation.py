import math

import pytest
import torch

from tests.tasks.diffusion.batches import shapes
from tests.tasks.image_classification.test_model import model_of
from trimtab.build import build
from trimtab.tasks.image_classification.validation import (
    example_losses,
    likeliest,
    log_probabilities,
    loss_of,
    losses_of,
)
from trimtab.training.activation_statistics import watching


def test_probabilities_sum_to_one_and_the_likeliest_is_the_largest():
    model, batch = model_of(), shapes(5)
    found = log_probabilities(model, batch).exp()
    assert torch.allclose(found.sum(1), torch.ones(5))
    best = likeliest(model, batch)
    assert torch.equal(best[:, 0].long(), found.argmax(1))
    assert torch.allclose(best[:, 1].float(), found.max(1).values)
    assert torch.allclose(losses_of(model, batch), -found.log().gather(1, batch.labels[:, None])[:, 0])


def test_an_evaluation_can_look_inside_the_model(opened):
    recipe, datasets = opened
    model = recipe.model.model_copy(update={"registers": 2})
    parts = build(recipe.model_copy(update={"model": model}), datasets)
    valid = datasets.valid["valid"]
    with watching(parts.model.eval(), sentences=valid.rows) as found:
        loss_of(parts, parts.model, valid)
    assert found[0].scores["activation_rms"] > 0
    assert [*found[0].shares] == ["vision.stack.blocks.0.attention"]


def test_the_loss_of_a_set_is_its_mean_and_that_of_a_step_by_example(opened):
    parts = build(*opened)
    parts.model.eval()
    loss = loss_of(parts, parts.model, parts.datasets.valid["valid"])
    assert loss == pytest.approx(math.log(2), abs=0.05)
    found = example_losses(parts, parts.examples.between(0, 5))
    assert len(found.loss) == 5
    assert found.targets.tolist() == [1] * 5

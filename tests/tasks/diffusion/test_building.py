import pytest
import torch

from tests.diffusion_run import with_model
from trimtab.build import build
from trimtab.tasks.diffusion.building import diffuser_of, plan_batches, untrained


@pytest.mark.parametrize("prediction", ["flow", "epsilon", "v", "x0"])
def test_an_untrained_model_loses_what_predicting_nothing_does(opened, prediction):
    parts = build(*with_model(opened, prediction=prediction))
    parts.model.eval()
    batches = parts.examples.first()
    with torch.no_grad():
        loss = sum(float(parts.stepper.objective(batch).loss) for batch in batches)
    loss /= sum(batch.num_targets for batch in batches)
    assert loss == pytest.approx(untrained(parts.datasets).loss, rel=0.1)


def test_a_step_has_a_batch_for_each_rank(opened):
    recipe, datasets = opened
    given = {"packed": False, "device": torch.device("cpu")}
    shapes = [plan_batches(recipe, datasets, **given, ranks=ranks).shape for ranks in (1, 3)]
    assert [(shape.num_batches, shape.images) for shape in shapes] == [(1, 8), (3, 3)]


def test_the_first_weights_follow_from_the_seed(opened):
    recipe, _ = opened
    one, same = (diffuser_of(recipe, num_classes=2, latents=None) for _ in range(2))
    other = diffuser_of(recipe.model_copy(update={"seed": 2}), num_classes=2, latents=None)
    for name, weight in one.named_parameters():
        assert torch.equal(weight, same.get_parameter(name))
        if weight.ndim > 1 and weight.any():
            assert not torch.equal(weight, other.get_parameter(name))


def test_layers_computed_again_have_the_same_gradients(opened):
    recipe, datasets = opened
    gradients = []
    for recompute in ("none", "feed_forward", "block"):
        step = recipe.step.model_copy(update={"recompute": recompute})
        parts = build(recipe.model_copy(update={"step": step}), datasets)
        with torch.no_grad():
            for name in sorted(parts.model.begins_zero):
                weight = parts.model.get_parameter(name)
                weight.normal_(0, 0.1, generator=torch.Generator().manual_seed(1))
        parts.stepper.objective(parts.examples.few()).objective.backward()
        gradients.append([each.grad for each in parts.model.parameters()])
    for other in gradients[1:]:
        assert all(torch.equal(one, each) for one, each in zip(gradients[0], other, strict=True))

import pytest
import torch

from tests.diffusion_run import with_model
from trimtab.build import build
from trimtab.tasks.diffusion.draws import normals
from trimtab.tasks.diffusion.losses import squared_errors


def test_the_loss_is_the_mean_over_numbers_and_the_sum_over_images(parts):
    batch = parts.examples.few()
    x0 = batch.pixels.float() / 127.5 - 1
    noise = normals(batch.keys, 256).view(x0.shape)
    slow = []
    for image in range(6):
        t = float(batch.times[image])
        x = (1 - t) * x0[image] + t * noise[image]
        given = parts.model.predict(x[None], batch.times[image : image + 1], batch.labels[image : image + 1])
        slow.append(float(((given[0] - (noise[image] - x0[image])) ** 2).mean().detach()))
    torch.testing.assert_close(squared_errors(parts.model, batch).detach(), torch.tensor(slow))
    assert float(parts.stepper.objective(batch).loss) == pytest.approx(sum(slow), rel=1e-5)


def test_weights_are_in_the_objective_alone(opened):
    parts = build(*with_model(opened, prediction="x0", weighting="min_snr"))
    batch = parts.examples.few()
    errors = squared_errors(parts.model, batch).detach()
    snr = (batch.times * torch.pi / 2).tan() ** -2
    found = parts.stepper.objective(batch)
    assert float(found.loss) == pytest.approx(float(errors.sum()), rel=1e-5)
    assert float(found.objective.detach()) == pytest.approx(
        float((errors * snr.clamp(max=5)).sum()), rel=1e-4
    )

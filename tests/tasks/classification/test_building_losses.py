import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.label_run import label_parts
from trimtab.step.accumulate import accumulate


def batches_of(parts):
    window, batches = next(iter(parts.stream.batches(0)))
    return window, batches


def test_the_loss_is_the_sum_of_plain_cross_entropy(parts):
    parts.model.eval()
    _, (batch, *_) = batches_of(parts)
    logits = F.linear(parts.model(batch), parts.model.output_matrix)[:, :3]
    plain = F.cross_entropy(logits, batch.labels, reduction="sum")
    assert float(parts.stepper.loss(parts.model, batch).loss) == pytest.approx(plain.item(), rel=1e-5)


def test_label_smoothing_is_in_the_objective_and_not_in_the_loss(tmp_path):
    parts = label_parts(tmp_path, **{"loss.label_smoothing": 0.1, "model.dropout": 0.0})
    _, (batch, *_) = batches_of(parts)
    logits = F.linear(parts.model(batch), parts.model.output_matrix)[:, :3]
    out = parts.stepper.loss(parts.model, batch)
    smoothed = F.cross_entropy(logits, batch.labels, reduction="sum", label_smoothing=0.1)
    assert float(out.objective.detach()) == pytest.approx(smoothed.item(), rel=1e-5)
    assert float(out.loss) == pytest.approx(float(F.cross_entropy(logits, batch.labels, reduction="sum")))


def test_the_gradient_does_not_depend_on_the_cut(parts):
    parts.model.eval()
    window, _ = batches_of(parts)
    shape = parts.batching.shape
    gradients = []
    for examples in (32, 5, 1):
        cut = type(shape)(1, 1024, examples, shape.max_seqlen, fixed=False, sort=examples == 5)
        parts.model.zero_grad()
        accumulate(parts.stepper.objective, parts.batching.cut(window, cut))
        gradients.append(torch.cat([each.grad.flatten() for each in parts.model.parameters()]))
    for other in gradients[1:]:
        assert float((other - gradients[0]).norm() / gradients[0].norm()) < 1e-5


def test_an_untrained_model_loses_the_logarithm_of_the_labels(parts):
    expected, name = parts.task.untrained(parts.datasets)
    assert (expected, name) == (math.log(3), "ln(labels)")
    parts.model.eval()
    _, batches = batches_of(parts)
    loss = sum(float(parts.stepper.loss(parts.model, batch).loss) for batch in batches)
    assert np.isclose(loss / 32, expected, rtol=0.02)

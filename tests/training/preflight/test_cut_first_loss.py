import math

import torch

from trimtab.training.preflight.cut import first_loss


def test_a_first_loss_far_from_that_of_ignorance_is_found(parts):
    with torch.no_grad():
        parts.model.output_matrix.mul_(10)
    results = list(first_loss(parts))
    assert [finding.severity for finding in results] == ["warning"]
    assert f"ln(vocabulary) is {math.log(66):.3f}" in results[0].message


def test_a_first_loss_that_is_no_number_is_an_error(parts):
    with torch.no_grad():
        parts.model.output_matrix[5] = math.inf
    assert [(each.code, each.severity) for each in first_loss(parts)] == [("L201", "error")]

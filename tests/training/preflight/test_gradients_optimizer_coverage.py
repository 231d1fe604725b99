import copy

import pytest
import torch

from trimtab.step.optimizer.build import build_optimizer
from trimtab.training.preflight.gradients import optimizer_has_the_weights


def message(parts):
    (finding,) = optimizer_has_the_weights(parts)
    assert (finding.code, finding.severity) == ("S210", "error")
    return finding.message


def test_an_optimizer_of_the_model_is_well(parts):
    assert list(optimizer_has_the_weights(parts)) == []


def test_an_optimizer_of_a_copy_is_found(parts):
    parts.stepper.optimizer = build_optimizer(parts.recipe.step.optimizer, copy.deepcopy(parts.model))
    count = len(list(parts.model.parameters()))
    assert f"{count} of its {count} tensors are not the model's" in message(parts)
    assert f"({count} of {count})" in message(parts)


def test_a_weight_that_was_replaced_afterwards_is_named(parts):
    old = parts.model.decoder.norm.weight
    parts.model.decoder.norm.weight = torch.nn.Parameter(old.detach().clone())
    assert "1 of its" in message(parts)
    assert "it lacks decoder.norm.weight" in message(parts)


@pytest.mark.parametrize("name", ["embedding.weight", "encoder.norm.bias"])
def test_a_weight_that_it_has_twice_is_named(parts, name):
    weight = dict(parts.model.named_parameters())[name]
    parts.stepper.optimizer.named["again"] = weight
    assert message(parts).endswith(f"it has more than once {name}")

import pytest
import torch
from torch import nn

from trimtab.errors import InputError
from trimtab.step.summed_loss import is_mean, last_operations, refuse_mean, summed_loss

LOGITS = torch.randn(4, 5, requires_grad=True)
LABELS = torch.tensor([0, 1, 2, 3])


def test_a_loss_is_one_number_with_a_gradient():
    assert summed_loss(LOGITS.sum().reshape(1, 1)).shape == ()
    for wrong, said in ((LOGITS, "more than one number"), (LOGITS.sum().detach(), "has no gradient")):
        with pytest.raises(InputError, match=said):
            summed_loss(wrong)
    with pytest.raises(InputError, match="is no tensor"):
        summed_loss(1.5)


def test_a_mean_is_known_by_its_last_operation():
    mean = nn.functional.cross_entropy(LOGITS, LABELS)
    assert [node.name() for node in last_operations((mean / 2).grad_fn)] == [
        "DivBackward0",
        "NllLossBackward0",
    ]
    assert is_mean(mean.grad_fn, 4)
    assert not is_mean(LOGITS.sum().grad_fn, 4)
    with pytest.raises(InputError, match="is a mean"):
        refuse_mean(mean, num_targets=4)
    refuse_mean(mean, num_targets=1)  # which is the sum

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from tests.for_each import for_each
from trimtab.errors import InputError
from trimtab.step.summed_loss import in_place_of, summed_loss

LOGITS = torch.randn(4, 5, requires_grad=True)
LABELS = torch.tensor([0, 1, 2, 3])


def test_a_loss_is_one_number_with_a_gradient():
    assert summed_loss(LOGITS.sum().reshape(1, 1), num_targets=4).shape == ()
    for wrong, said in ((LOGITS, "more than one number"), (LOGITS.sum().detach(), "has no gradient")):
        with pytest.raises(InputError, match=said):
            summed_loss(wrong, num_targets=4)
    with pytest.raises(InputError, match="is no tensor"):
        summed_loss(1.5, num_targets=4)


def test_a_batch_without_targets_has_no_loss():
    ignored = nn.functional.cross_entropy(LOGITS, torch.full_like(LABELS, -100), reduction="sum")
    assert summed_loss(ignored, num_targets=0).item() == 0
    with pytest.raises(InputError, match=r"(?s)num_targets\(batch\): is 0.*no target and a loss of"):
        summed_loss(nn.functional.cross_entropy(LOGITS, LABELS, reduction="sum"), num_targets=0)


@for_each(
    ("returned", "said"),
    [
        ((LOGITS.sum(), LOGITS), "the tuple"),
        ({"loss": LOGITS.sum()}, '["loss"]'),
        (1.5, ".item()"),
        (SimpleNamespace(loss=LOGITS), "`.loss`"),
        (SimpleNamespace(objective=LOGITS), "`.objective`"),
        (None, 'reduction="sum"'),
    ],
)
def test_the_fix_is_for_what_was_returned(returned, said):
    assert said in in_place_of(returned)

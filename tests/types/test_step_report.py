import pytest
import torch

from trimtab.types import SkipReason, StepReport


@pytest.mark.parametrize("refusal", SkipReason)
def test_a_step_is_skipped_for_every_reason_but_none(refusal):
    one = torch.tensor(1.0)
    report = StepReport(one, one, one, one, torch.tensor(int(refusal)), 1e-3, 5, 10)
    assert report.skipped.item() == float(refusal is not SkipReason.NONE)
    assert report.skipped.shape == ()

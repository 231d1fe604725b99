import torch

from tests.for_each import for_each
from trimtab.types import SkipReason, StepReport


@for_each("skip_reason", SkipReason)
def test_a_step_is_skipped_for_every_reason_but_none(skip_reason):
    one = torch.tensor(1.0)
    report = StepReport(one, one, one, one, torch.tensor(int(skip_reason)), 1e-3, 5, 10)
    assert report.skipped.item() == float(skip_reason is not SkipReason.NONE)
    assert report.skipped.shape == ()

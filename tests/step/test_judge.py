import pytest
import torch

from trimtab.step.judge import must_skip


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_anything_not_finite_is_refused(bad):
    good = torch.tensor(1.0)
    assert must_skip(torch.tensor(bad), good)
    assert must_skip(good, torch.tensor(bad))
    assert not must_skip(good, good)

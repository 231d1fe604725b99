import pytest

from tests.faults.mutation import put_bug, rewritten
from trimtab.step.accumulate import accumulate
from trimtab.step.optimizer.adamw import AdamW
from trimtab.training.preflight import cut


def test_a_change_that_does_not_fit_is_an_error():
    with pytest.raises(AssertionError, match="accumulate has 'no such line' 0 times"):
        rewritten(accumulate, ("no such line", "pass"))
    with pytest.raises(AssertionError, match="packs"):
        rewritten(accumulate, ("packs", "others"))


def test_everybody_gets_the_wrong_function_until_the_test_is_over():
    update = AdamW.update
    with pytest.MonkeyPatch.context() as patch:
        put_bug(patch, accumulate, ("max(1, ", "max(2, "))
        put_bug(patch, AdamW.update, ("skip.to(torch.float32)", "None"))
        assert cut.accumulate is not accumulate
        assert AdamW.update is not update
    assert cut.accumulate is accumulate
    assert AdamW.update is update

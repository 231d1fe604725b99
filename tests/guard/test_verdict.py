import pytest

from trimtab.guard import Verdict


def test_a_verdict_is_a_value():
    assert Verdict(apply=True) == Verdict(apply=True, finding=None, streak=0)
    with pytest.raises(AttributeError):
        Verdict(apply=True).apply = False

import pytest
from pydantic import ValidationError

from trimtab.config.guard import GuardConfig


def test_a_guard_that_would_never_speak_is_refused():
    with pytest.raises(ValidationError, match="would never act"):
        GuardConfig(window=32, active_from=64)
    assert GuardConfig(window=64, active_from=64).active_from == 64

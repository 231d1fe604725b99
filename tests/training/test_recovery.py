import math

import pytest

from tests.training.small_line import small_line
from tests.training.test_settle import CHANGES, poked
from trimtab.errors import RunFailed
from trimtab.flow import TrainState
from trimtab.training.recovery import train_with_recovery


def test_a_healthy_run_goes_through_once(tmp_path):
    line = small_line(tmp_path, **{"length": "4 steps", "evaluate.every": "50 steps"})
    assert train_with_recovery(line.parts, TrainState(), line.recorder).step == 4
    assert line.recorder.refusals.rewound == []


def test_a_run_that_cannot_rewind_ends(tmp_path):
    line = small_line(tmp_path, **{**CHANGES, "guard": {"rewinds": 0}})
    poked(line, after=100, value=math.nan)
    with pytest.raises(RunFailed, match=r"guard\.rewinds is 0"):
        train_with_recovery(line.parts, TrainState(), line.recorder)

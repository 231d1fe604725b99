import json
import math
from pathlib import Path

import pytest

from tests.replaying.test_evidence import BROKEN, evidence, windows
from trimtab.replaying.evidence import Column, Measure
from trimtab.replaying.left_out import LeftOut
from trimtab.replaying.report import ReplayReport, middle_of
from trimtab.training.example_losses import SuspectExample

LINE = SuspectExample(
    step=71,
    corpus="train",
    line=17,
    place="train.en:17",
    source="rudder\u202epulls",
    target="z" * 500,
    loss=8.0,
    targets=28,
    stands_out=True,
    reason="loss 8 a token, the median of the window's 40 examples is 1.7",
)


def report(found, *, examples=(LINE,), **more):
    return ReplayReport(Path("run"), 71, 60, found, examples, **more)


def test_people_read_what_was_what_is_and_the_verdict():
    told = report(evidence(6.0, 6.0)).render()
    lines = told.splitlines()
    assert lines[0] == "run, step 71: replayed from checkpoint 60, 11 steps"
    assert lines[1] == "  as it was   loss 6, gradient norm 1"
    assert lines[2].endswith("the same to the last bit")
    weights, others = lines[3].split("; ")
    assert weights == "  weights of step 70: this window loss 6, gradient norm 1"
    assert others == "16 others, median loss 2, gradient norm 1"
    assert lines[4].startswith("  weights of step 60: this window loss 6")
    assert lines[5].startswith("the data is at fault: ")
    assert "  train line 17 (train.en:17), 28 tokens: loss 8 a token" in told
    assert "\u202e" not in told
    assert "z... (500 characters)" in told


def test_a_long_list_of_examples_is_cut_and_json_has_all():
    found = report(evidence(6.0, 6.0), examples=(LINE,) * 16)
    assert found.render().count("train line 17") == 5
    assert "and 11 more" in found.render()
    assert len(found.to_dict()["examples"]) == 16


def test_json_has_no_number_that_json_does_not_have():
    found = report(
        evidence(BROKEN, 2.2, recorded=None, others=(BROKEN, *windows(2.0))), trace="decoder made it"
    )
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (told["fault"], told["recorded"], told["exact"]) == ("data_and_state", None, False)
    assert told["replayed"] == {"loss": "nan", "grad_norm": "nan"}
    assert [each["weights_of_step"] for each in told["columns"]] == [70, 60]
    assert [each["stands_out"] for each in told["columns"]] == [True, False]
    assert told["trace"] == "decoder made it"
    assert "first not finite: decoder made it" in found.render()
    assert "not written down" in found.render()


@pytest.mark.parametrize("missing", [0, 3, 9])
def test_the_middle_of_windows_some_of_which_are_not_finite(missing):
    column = Column(3, Measure(1.0, 1.0), (*windows(2.0, count=16 - missing), *[BROKEN] * missing))
    middle = middle_of(column)
    assert math.isinf(middle.loss) if missing > 8 else middle.loss == pytest.approx(2.0, rel=0.05)


def test_the_beginning_of_a_run_is_no_checkpoint():
    found = ReplayReport(Path("run"), 3, 0, evidence(2.0, 2.2), (LINE,))
    assert "replayed from the beginning of the run, 3 steps" in found.render()


def test_a_step_that_was_left_out_is_no_healthy_one():
    left = LeftOut(71, (41, 80), 75)
    found = report(evidence(2.0, 2.2, recorded=None), left_out=left)
    assert "  as it was   left out since the run went back\n" in found.render()
    assert "no spike: the run left this step out" in found.render()
    assert found.to_dict()["left_out"] == left.to_dict()
    assert report(evidence(2.0, 2.2)).to_dict()["left_out"] is None

import pytest

from tests.replaying.test_evidence import BROKEN, evidence, windows
from trimtab.replaying.evidence import Measure
from trimtab.replaying.explanation import explanation

BAD = windows(9.0)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (evidence(2.0, 2.2), ("the window is like others",)),
        (
            evidence(2.0, 2.2, refused=True),
            ("the run refused the step", "nothing of this window is to blame"),
        ),
        (evidence(6.0, 6.0), ("weights of step 60 too", "Correct or remove the lines")),
        (evidence(6.0, 2.2), ("with those of step 60 it is like others", "Leaving it out is enough")),
        (evidence(9.0, 2.2, others=BAD), ("spoilt after step 60", "Go back to a checkpoint before that")),
        (evidence(9.0, 6.0, others=BAD), ("spoilt after step 60", "stands out by older weights too")),
        (
            evidence(9.0, 9.0, others=BAD, older_others=BAD, history=windows(2.0, count=128)),
            ("spoilt by step 60 already",),
        ),
        (evidence(2.0, 2.2, recorded=Measure(7.5, 1.0)), ("wrote down loss 7.5", "on cuda:1, gives 2 and 1")),
        (evidence(BROKEN, BROKEN, recorded=None), ("Correct or remove",)),
    ],
)
def test_each_verdict_has_its_reason_and_what_to_do(found, words):
    told = explanation(found, device="cuda:1", older_is_untrained=False)
    assert [word for word in words if word not in told] == []


def test_weights_that_know_nothing_yet_are_no_comparison():
    told = explanation(evidence(6.0, 2.2), device="cpu", older_is_untrained=True)
    assert "cannot be told" in told
    assert "Leaving it out" not in told

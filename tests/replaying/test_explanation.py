from tests.for_each import for_each
from tests.replaying.test_evidence import BROKEN, evidence, windows
from trimtab.replaying.evidence import Measure
from trimtab.replaying.explanation import explanation
from trimtab.replaying.left_out import LeftOut

BAD = windows(9.0)


@for_each(
    ("found", "words"),
    [
        (evidence(2.0, 2.2), ("the window is like others",)),
        (
            evidence(2.0, 2.2, refused=True),
            ("the run refused the step", "nothing of this window is to blame"),
        ),
        (evidence(6.0, 6.0), ("weights of step 60 too", "Correct or remove the lines")),
        (evidence(6.0, 2.2), ("with those of step 60 it is like others", "Leaving it out is enough")),
        (evidence(9.0, 2.2, others=BAD), ("damaged after step 60", "Go back to a checkpoint before that")),
        (evidence(9.0, 6.0, others=BAD), ("damaged after step 60", "stands out by older weights too")),
        (
            evidence(9.0, 9.0, others=BAD, older_others=BAD, history=windows(2.0, count=128)),
            ("damaged by step 60 already",),
        ),
        (
            evidence(15.0, 9.0, others=windows(15.0), older_others=BAD, history=windows(2.0, count=128)),
            ("damaged by step 60 already",),
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


def told_of(found, left):
    return explanation(found, device="cpu", older_is_untrained=False, left=left)


def test_of_a_step_that_was_left_out_it_says_why_and_how_it_was_taken_now():
    told = told_of(evidence(2.0, 2.2, recorded=None), LeftOut(65, (41, 80), 70, from_its_checkpoint=True))
    assert told.startswith(
        "the run left this step out: it went back from step 70 and takes none of steps 41 to 80 since then (S907"
    )
    assert "as the branch that was left took it, from a checkpoint of that branch" in told
    assert told.endswith("again. The window is like others with the weights that met it.")


def test_of_a_step_that_nobody_took_it_says_so():
    told = told_of(evidence(2.0, 2.2, recorded=None), LeftOut(75, (41, 80), 70))
    assert "went back from step 70, before it came to this one, and" in told
    assert "as the branch that was left would have, from where the branches part" in told
    unknown = told_of(evidence(2.0, 2.2, recorded=None), LeftOut(75, (41, 80), None))
    assert "it went back and takes none" in unknown


def test_a_run_that_has_gone_back_is_not_told_to():
    told = told_of(evidence(9.0, 2.2, recorded=None, others=BAD), LeftOut(65, (41, 80), 70))
    assert "has gone back already" in told
    assert "Go back to" not in told


def test_a_spike_that_does_not_come_again_is_blamed_on_neither_text_nor_settings():
    found = evidence(2.0, 2.2, recorded=None, refused=True, refused_again=False)
    told = told_of(found, LeftOut(65, (41, 80), 70, refused=True))
    assert "That branch refused the step" in told
    assert "a fault of the hardware" in told

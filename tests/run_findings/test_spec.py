from trimtab.run_findings.steps import LOSS_SPIKE


def test_a_finding_has_the_texts_of_its_page_and_the_numbers_of_this_time():
    found = LOSS_SPIKE.found("9.1 at step 7", where="step 7")
    assert (found.code, found.name, found.severity) == ("S902", "loss-spike", LOSS_SPIKE.severity)
    assert (found.message, found.where) == ("9.1 at step 7", "step 7")
    assert (found.why, found.fix) == (LOSS_SPIKE.why, LOSS_SPIKE.fix)


def test_texts_that_depend_on_what_was_seen_replace_those_of_the_page():
    found = LOSS_SPIKE.found("9.1", severity="note", why="", fix="lower it to 0.1")
    assert (found.severity, found.why, found.fix) == ("note", "", "lower it to 0.1")

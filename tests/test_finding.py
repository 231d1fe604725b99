from trimtab.finding import Finding


def test_a_finding_reads_as_a_small_conversation():
    finding = Finding(
        code="S104",
        name="warmup-longer-than-run",
        severity="error",
        message="warmup is 2000 steps, but the run ends after 1000",
        why="the rate would still be rising",
        fix="set `step.schedule.warmup` below 1000 steps",
        where="run.yaml:14:3",
    )
    assert str(finding) == (
        "error[S104] warmup-longer-than-run: warmup is 2000 steps, but the run ends after 1000   (run.yaml:14:3)\n"
        "  why  the rate would still be rising\n"
        "  fix  set `step.schedule.warmup` below 1000 steps"
    )


def test_what_is_not_known_is_left_out():
    assert str(Finding(code="S901", name="loss-spike", severity="warning", message="loss is 9")) == (
        "warning[S901] loss-spike: loss is 9"
    )

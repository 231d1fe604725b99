from tests.checks.say.reports import SKIPPED, UNREADABLE, finding, report


def test_the_exit_code_follows_the_gravest():
    assert report().exit_code == 0
    assert report(finding(severity="note"), skipped=(SKIPPED,)).exit_code == 0
    assert report(finding(severity="warning")).exit_code == 0
    assert report(finding(severity="warning"), strict=True).exit_code == 1
    assert report(finding(severity="note"), strict=True).exit_code == 0
    assert report(finding()).exit_code == 1
    assert report(finding(), problems=(UNREADABLE,)).exit_code == 2


def test_findings_are_counted_by_severity():
    whole = report(finding(), finding(severity="note"), finding(severity="note"))
    assert [whole.count(severity) for severity in ("error", "warning", "note")] == [1, 0, 2]

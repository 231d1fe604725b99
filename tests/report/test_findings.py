from tests.report.folder_of_a_run import finding_line, write_run
from trimtab.report.findings import counts_of, findings_of, page_of
from trimtab.report.run_data import open_run


def found(tmp_path, *lines):
    return findings_of(open_run(write_run(tmp_path / "my", findings=lines)))


def test_what_weighs_most_comes_first_and_a_code_comes_once(tmp_path):
    shown = found(
        tmp_path,
        finding_line(10),
        finding_line(20, code="E901", severity="error", name="collapsed-outputs"),
        finding_line(30),
        finding_line(0, code="S911", severity="note"),
    )
    assert [each.code for each in shown] == ["E901", "S902", "S911"]
    assert (shown[1].count, shown[1].when) == (2, "at step 10, 30")
    assert shown[2].when == "before the first step"


def test_an_error_of_an_evaluation_is_over_when_a_later_one_does_not_repeat_it(tmp_path):
    error = {"code": "M902", "severity": "error", "of_an_evaluation": True}
    shown = found(tmp_path, finding_line(100, **error), finding_line(200))
    assert [(each.code, each.is_over) for each in shown] == [("S902", False), ("M902", True)]
    run = open_run(tmp_path / "my")
    assert counts_of(run) == {"error": 0, "warning": 1, "note": 0}


def test_the_text_of_the_page_travels_along():
    assert "<h3>What to do</h3>" in page_of("S902")
    assert page_of("S902").startswith("<p>")
    assert page_of("<b>") == page_of("no-such-code") == ""


def test_findings_of_nonsense_are_shown_as_far_as_they_go(tmp_path):
    shown = found(
        tmp_path, {"code": 7}, {"code": "S902", "severity": "loud", "step": "x", "message": None}, {}
    )
    assert [(each.code, each.severity, each.message, each.steps) for each in shown] == [
        ("S902", "note", "", ())
    ]


def test_what_may_have_brought_an_error_about_comes_before_it(tmp_path):
    rate = {"code": "S202", "name": "peak-rate-out-of-range", "severity": "warning", "step": 0}
    spike = {"code": "S905", "name": "too-many-refused", "severity": "error", "step": 90}
    other = {"code": "D202", "name": "examples-dropped", "severity": "warning", "step": 0}
    shown = found(tmp_path, other, rate, spike)
    assert [each.code for each in shown] == ["S202", "S905", "D202"]
    assert shown[0].explains == ("S905",)
    assert [each.code for each in found(tmp_path / "b", other, rate)] == ["D202", "S202"]

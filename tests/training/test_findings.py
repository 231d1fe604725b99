import pytest

from tests.training.small_line import Told
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.finding import Finding
from trimtab.training.findings import Findings, PendingFindings


def found(code):
    return Finding(code=code, name="some-name", severity="error", message="what was seen", why="", fix="")


def test_what_is_found_is_told_written_with_its_step_and_stands_until_it_is_over(tmp_path):
    told = Told()
    findings = Findings(RunFolder(tmp_path), told)
    findings.tell(found("E901"))
    findings.step = 7
    findings.tell(found("M901"))
    lines = list(read_journal(tmp_path / "findings.jsonl"))
    assert [(line["step"], line["code"]) for line in lines] == [(0, "E901"), (7, "M901")]
    assert [each.code for each in told.findings] == ["E901", "M901"]
    assert not any("of_an_evaluation" in line for line in lines)
    findings.look_again_for("E901", "S901")
    assert [each.code for each in findings.current] == ["M901"]


def test_what_an_evaluation_finds_is_marked_though_it_ends_badly(tmp_path):
    findings = Findings(RunFolder(tmp_path), Told())

    def evaluation():
        with findings.of_an_evaluation():
            findings.tell(found("E901"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluation()
    findings.tell(found("S901"))
    marks = [line.get("of_an_evaluation") for line in read_journal(tmp_path / "findings.jsonl")]
    assert marks == [True, None]


def test_findings_are_held_until_there_is_a_listener_and_then_passed_on():
    pending, told = PendingFindings(), []
    for code in ("K901", "K902"):
        pending.tell(found(code))
    pending.pass_on_to(told.append)
    pending.tell(found("K903"))
    assert [each.code for each in told] == ["K901", "K902", "K903"]

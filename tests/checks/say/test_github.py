import os

from hypothesis import given
from hypothesis import strategies as st

from tests.checks.say.reports import UNREADABLE, finding, report
from trimtab.checks.say.github import as_github, command, relative


def test_a_finding_becomes_an_annotation_at_its_line():
    (line,) = as_github(report(finding("runs/a, b.yaml"))).splitlines()
    head, _, text = line.removeprefix("::error ").partition("::")
    assert head == (
        "file=runs/a%2C b.yaml,line=3,endLine=3,col=1,endColumn=13,title=S104 warmup-longer-than-run"
    )
    assert text.startswith("warm-up is 1,000 steps, but the run ends after 500%0Awhy: ")
    assert "1%25 to 10%25" in text


def test_notes_are_notices_and_unreadable_files_are_errors():
    lines = as_github(report(finding("a.yaml", severity="note"), problems=(UNREADABLE,))).splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::notice", "::error"]
    assert "b.yaml: not UTF-8" in lines[1]


@given(st.text("ab:,%\r\n"), st.text("ab:,%\r\n"))
def test_a_command_is_one_line_that_can_be_read_back(value, text):
    line = command("error", {"title": value}, text)
    assert len(line.splitlines()) == 1
    head, _, told = line.removeprefix("::error ").partition("::")
    unescaped = {"%0A": "\n", "%0D": "\r", "%3A": ":", "%2C": ",", "%25": "%"}
    for written, meant in unescaped.items():
        told, head = told.replace(written, meant), head.replace(written, meant)
    assert (told, head) == (text, f"title={value}")


def test_paths_are_told_from_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert relative(str(tmp_path / "a" / "b.yaml")) == "a/b.yaml"
    assert relative(os.path.join("a", "b.yaml")) == "a/b.yaml"
    assert relative("/elsewhere/b.yaml") == "/elsewhere/b.yaml"

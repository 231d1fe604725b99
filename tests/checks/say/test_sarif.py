import json

from tests.checks.say.reports import EDIT, TEXT, UNREADABLE, finding, report
from trimtab.checks.say.sarif import as_sarif


def run_of(whole):
    log = json.loads(as_sarif(whole))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    return run


def test_what_the_standard_requires_is_there():
    run = run_of(report(finding("runs/a, b.yaml"), finding("runs/a, b.yaml", severity="note")))
    driver = run["tool"]["driver"]
    assert driver["name"] == "trimtab"
    assert [rule["id"] for rule in driver["rules"]] == ["S104"]
    assert driver["rules"][0]["help"]["markdown"].startswith("# S104")
    assert driver["rules"][0]["defaultConfiguration"] == {"level": "error"}
    assert [result["level"] for result in run["results"]] == ["error", "note"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["physicalLocation"] == {
            "artifactLocation": {"uri": "runs/a%2C%20b.yaml"},
            "region": {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 13},
        }
        assert len(result["partialFingerprints"]["trimtabFinding/v1"]) == 16
    assert run["invocations"][0]["executionSuccessful"] is True


def test_a_file_that_could_not_be_read_is_a_notification():
    run = run_of(report(problems=(UNREADABLE,)))
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    assert "b.yaml" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert run["results"] == []


def test_an_edit_is_a_replacement_that_makes_the_mended_text():
    run = run_of(report(finding("a.yaml", edits=(EDIT,))))
    (fix,) = run["results"][0]["fixes"]
    (change,) = fix["artifactChanges"]
    (replacement,) = change["replacements"]
    region = replacement["deletedRegion"]
    lines = TEXT.splitlines(keepends=True)
    start = sum(map(len, lines[: region["startLine"] - 1])) + region["startColumn"] - 1
    end = sum(map(len, lines[: region["endLine"] - 1])) + region["endColumn"] - 1
    mended = TEXT[:start] + replacement["insertedContent"]["text"] + TEXT[end:]
    assert mended == TEXT.replace("1000", "50")


def test_what_cannot_be_mended_by_itself_has_no_fix():
    assert "fixes" not in run_of(report(finding("a.yaml")))["results"][0]
    assert "fixes" not in run_of(report(finding("a.yaml", edits=(EDIT, EDIT))))["results"][0]


def test_a_name_that_is_not_utf_8_and_an_unusual_line_end_are_told_in_the_words_of_the_standard():
    run = run_of(report(finding("bad\udcff.yaml")))
    (location,) = run["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "bad%FF.yaml"
    assert run["newlineSequences"] == ["\r\n", "\n", "\r"]

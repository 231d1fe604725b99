import json

from tests.checks.say.reports import EDIT, SKIPPED, UNREADABLE, finding, report
from trimtab.checks.edits import AddKey, RemoveKey, RenameKey
from trimtab.checks.say.json import as_json


def test_every_field_of_the_form_is_there():
    edits = (EDIT, AddKey("seed", 1, after="warmup_steps"), RenameKey("a", "b"), RemoveKey("c"))
    whole = json.loads(
        as_json(
            report(finding("a.yaml", edits=edits), skipped=(SKIPPED,), problems=(UNREADABLE,), silenced=1)
        )
    )
    assert set(whole) == {
        "version", "trimtab", "findings", "files", "skipped", "problems", "silenced", "known", "unknown_versions",
        "counts", "exit_code",
    }  # fmt: skip
    assert (whole["version"], whole["exit_code"], whole["counts"]) == (
        1,
        2,
        {"error": 1, "warning": 0, "note": 0},
    )
    (found,) = whole["findings"]
    assert (found["code"], found["path"], found["line"], found["column"]) == ("S104", "a.yaml", 3, 1)
    assert (found["end_line"], found["end_column"], found["key"]) == (3, 13, "warmup_steps")
    assert found["page"] == "docs/rules/S104.md"
    assert [edit["action"] for edit in found["fix"]["edits"]] == ["set", "add", "rename", "remove"]
    assert found["evidence"] == [
        {
            "grade": "arithmetic",
            "source": None,
            "text": "A linear warm-up of w steps gives the rate peak * t / w at step t; at the end n < w it is n / w.",
            "opened": True,
        }
    ]
    assert whole["problems"][0]["got"] == "the byte 0xFF"
    assert whole["skipped"] == [{"path": "notes.txt", "reason": "not a configuration that trimtab knows"}]

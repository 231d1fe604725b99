import json

from tests.report.folder_of_a_run import write_run


def test_runs_are_listed_as_text_and_as_json(call, tmp_path):
    for name in "ab":
        write_run(tmp_path / name, steps=5)
    assert call("runs", tmp_path).stdout.splitlines()[1].startswith(str(tmp_path / "a"))
    found = json.loads(call("runs", tmp_path, "--json", "--sort", "written", "--filter", "training").stdout)
    assert {row["name"] for row in found} == {"a", "b"}
    assert found[0]["health"] == "warning"


def test_no_run_is_said_and_no_folder_is_an_error(call, tmp_path):
    write_run(tmp_path / "a", steps=5)
    assert "match 'zzz'" in call("runs", tmp_path, "--filter", "zzz").stdout
    done = call("runs", tmp_path / "none")
    assert done.exit_code == 2
    assert "no such folder" in done.stderr
    assert call("runs", tmp_path, "--sort", "colour").exit_code == 2

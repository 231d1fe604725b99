import json
import os
import subprocess
import sys

import pytest

BAD = '{"output_dir": "out", "per_device_train_batch_size": 8, "max_steps": 500, "warmup_steps": 1000}\n'
GOOD = BAD.replace("1000", "50")
ASCII = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"}
RENAMED = "base_model: x/y   # base\nmicro_batch_size: 2\ndatasets: [{path: a, type: alpaca}]\nlerning_rate: 1.0e-4\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text(BAD)
    (tmp_path / "good.json").write_text(GOOD)
    (tmp_path / "a.yaml").write_text(RENAMED)
    return tmp_path


def test_an_error_is_exit_code_1_and_none_is_0(call):
    result = call("check", "bad.json", "--select", "S104")
    assert result.exit_code == 1
    assert result.stdout.startswith("bad.json:1:75 S104 warmup-longer-than-run error: warm-up is 1,000 steps")
    assert result.stdout.endswith("\n\n1 error in 1 file\n")
    result = call("check", "good.json", "--select", "S104")
    assert (result.exit_code, result.stdout) == (0, "nothing found in 1 file\n")


def test_what_cannot_be_read_is_exit_code_2_and_beats_1(call):
    result = call("check", "gone.json", "bad.json", "--select", "S104")
    assert result.exit_code == 2
    assert "S104" in result.stdout
    assert result.stderr == "error: gone.json: no such file or folder   (gone.json)\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["bad.json", "--format", "xml"],
        ["bad.json", "--nothing"],
        ["bad.json", "--select", "Z9"],
        ["bad.json", "--with", "transformers"],
        ["bad.json", "--as", "nothing"],
        ["bad.json", "--baseline", "gone.json"],
        ["-", "--fix"],
    ],
)
def test_wrong_usage_is_exit_code_2_with_a_message(call, arguments):
    result = call("check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error" in result.stderr
    assert "Traceback" not in result.stderr


def test_standard_input_is_read(call):
    result = call("check", "-", "--select", "S104", "-q", stdin=BAD)
    assert result.stdout == (
        "-:1:75 S104 warmup-longer-than-run error: warm-up is 1,000 steps, but the run ends after 500\n"
    )


@pytest.mark.parametrize("format", ["json", "sarif"])
def test_other_tools_read_json_whole(call, format):
    result = call("check", "bad.json", "gone.json", "--format", format)
    assert json.loads(result.stdout)
    assert result.exit_code == 2


def test_annotations_are_one_line_each(call):
    result = call("check", "bad.json", "gone.json", "--format", "github", "--select", "S104")
    assert [line.partition(" ")[0] for line in result.stdout.splitlines()] == ["::error", "::error"]
    assert result.stderr == ""


def test_fix_does_only_what_leaves_the_training_as_it_is(call, folder):
    assert call("check", "a.yaml", "--select", "C101", "--fix").exit_code == 1
    assert (folder / "a.yaml").read_text() == RENAMED
    result = call("check", "a.yaml", "--select", "C101", "--fix", "--changes-training")
    assert (result.exit_code, result.stderr) == (0, "a.yaml: mended C101\n")
    assert (folder / "a.yaml").read_text() == RENAMED.replace("lerning", "learning")


def test_diff_shows_and_writes_nothing(call, folder):
    result = call("check", "a.yaml", "--select", "C101", "--diff", "--changes-training")
    assert result.exit_code == 1
    assert "-lerning_rate: 1.0e-4\n+learning_rate: 1.0e-4\n" in result.stdout
    assert (folder / "a.yaml").read_text() == RENAMED
    result = call("check", "good.json", "--diff")
    assert (result.exit_code, result.stdout) == (0, "")


def test_a_baseline_is_written_and_used(call, folder):
    result = call("check", "bad.json", "--select", "S104", "--write-baseline", "old.json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "old.json: 1 finding written\n")
    result = call("check", "bad.json", "--select", "S104", "--baseline", "old.json")
    assert (result.exit_code, result.stdout) == (0, "nothing found in 1 file; 1 known from the baseline\n")


def test_a_baseline_is_written_anew_from_all_that_is_found_now(call, folder):
    call("check", "bad.json", "--select", "S104", "--write-baseline", "old.json")
    result = call(
        "check", "bad.json", "--select", "S104", "--baseline", "old.json", "--write-baseline", "old.json"
    )
    assert (result.exit_code, result.stderr) == (0, "old.json: 1 finding written\n")


def test_a_baseline_is_not_replaced_where_something_could_not_be_read(call, folder):
    call("check", "bad.json", "--select", "S104", "--write-baseline", "old.json")
    before = (folder / "old.json").read_bytes()
    (folder / "broken.json").write_text("{")
    for files in (["gone.json"], ["bad.json", "broken.json"]):
        result = call("check", *files, "--select", "S104", "--write-baseline", "old.json")
        assert result.exit_code == 2
        assert "error" in result.stderr
        assert (folder / "old.json").read_bytes() == before


def test_help_tells_of_every_option(call):
    result = call("check", "--help")
    assert result.exit_code == 0
    for option in ["--format", "--quiet", "--select", "--ignore", "--strict", "--as", "--with", "--fix",
                   "--changes-training", "--diff", "--baseline", "--write-baseline"]:  # fmt: skip
        assert option in result.stdout


def test_the_door_of_its_own_does_the_same_without_typer_and_torch(folder):
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from trimtab.cli.main import main\n"
        "try: main()\n"
        "finally: print(sorted({'typer', 'rich', 'pydantic', 'numpy', 'torch'} & set(sys.modules)), file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code, "check", "bad.json", "--select", "S104", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert (done.returncode, done.stderr) == (1, "['torch']\n")
    assert done.stdout.startswith("bad.json:1:75 S104")


def test_what_the_terminal_cannot_show_is_escaped(folder):
    (folder / "ü.json").write_text(BAD)
    command = [
        sys.executable,
        "-c",
        "from trimtab.cli.main import main; main()",
        "check",
        "ü.json",
        "-q",
        "--select",
        "S104",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=ASCII)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("\\xfc.json:1:75 S104")

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.cli.refusal import has_four_parts

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
    assert (result.exit_code, result.stdout) == (0, "no findings in 1 file\n")


def test_what_cannot_be_read_is_exit_code_2_and_beats_1(call):
    result = call("check", "gone.json", "bad.json", "--select", "S104")
    assert result.exit_code == 2
    assert "S104" in result.stdout
    assert result.stderr.startswith("error: gone.json: no such file or folder   (gone.json)\n")
    assert "did you mean good.json" in result.stderr


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
    assert has_four_parts(result.stderr)
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


@pytest.mark.parametrize("format", ["text", "json"])
def test_of_each_file_the_first_problems_are_told_and_only_json_has_them_all(call, folder, format):
    for name in ("one.yaml", "two.yaml"):
        wrong = "".join(f"  - {{source: a{number}, targt: b}}\n" for number in range(50))
        (folder / name).write_text(f"data:\n train:\n{wrong}model: {{preset: tiny}}\nlength: 9 steps\n")
    result = call("check", "one.yaml", "two.yaml", "--format", format)
    assert result.exit_code == 2
    assert [result.stderr.count(f"({name}.yaml:") for name in ("one", "two")] == [20, 20]
    assert result.stderr.count("error: and 30 more, not shown\n") == 2
    if format == "json":
        assert len(json.loads(result.stdout)["problems"]) == 100


def test_annotations_are_one_line_each(call):
    result = call("check", "bad.json", "gone.json", "--format", "github", "--select", "S104")
    assert [line.partition(" ")[0] for line in result.stdout.splitlines()] == ["::error", "::error"]
    assert result.stderr == ""


def test_fix_does_only_what_leaves_the_training_as_it_is(call, folder):
    assert call("check", "a.yaml", "--select", "C101", "--fix").exit_code == 1
    assert (folder / "a.yaml").read_text() == RENAMED
    result = call("check", "a.yaml", "--select", "C101", "--fix", "--changes-training")
    assert (result.exit_code, result.stderr) == (0, "a.yaml: fixed C101\n")
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
    assert (result.exit_code, result.stdout) == (0, "no findings in 1 file; 1 known from the baseline\n")


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
    for option in ["--format", "--quiet", "--select", "--ignore", "--ignore-unknown", "--strict", "--as", "--with",
                   "--fix", "--changes-training", "--diff", "--baseline", "--write-baseline"]:  # fmt: skip
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


FOREIGN = {
    "tsconfig.json": '{\n  // a comment\n  "compilerOptions": {"strict": true},\n}\n',
    "helm.yaml": "{{- if .Values.train }}\nlearning_rate: {{ .Values.rate }}\n{{- end }}\n",
    "newer.py": "def f[T](x: T) -> T:\n    return f'{x!r:{'>'}}'\nmatch x:\n  case [: pass\n",
    "empty.json": "",
    "notes.yaml": "a: 1\n",
    "tool.py": "print('learning')\n",
    "two.yml": "a: 1\n---\nb: 2\n",
    "run.bash": "echo hello\n",
}
HOOK = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")


def test_files_that_are_nobodys_are_passed_over_without_a_word(call, folder):
    for name, text in FOREIGN.items():
        (folder / name).write_text(text)
    result = call("check", *FOREIGN, "--ignore-unknown")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "no findings in 0 files\n", "")
    assert call("check", *FOREIGN).exit_code == 2
    result = call("check", *FOREIGN, "bad.json", "--ignore-unknown", "--select", "S104", "-q")
    assert (result.exit_code, result.stdout.count("\n")) == (1, 1)


def test_a_broken_configuration_is_told_even_where_unknown_files_are_not(call, folder):
    (folder / "broken.yaml").write_text("learning_rate: [\n")
    assert call("check", "broken.yaml", "--ignore-unknown").exit_code == 2
    assert call("check", "gone.yaml", "--ignore-unknown").exit_code == 2


def test_the_hook_does_as_pre_commit_calls_it(call, folder):
    (hook,) = YAML(typ="safe").load(HOOK)
    for name, text in FOREIGN.items():
        (folder / name).write_text(text)
    named = sorted(path.name for path in folder.iterdir() if re.search(hook["files"], path.name))
    assert {"run.bash", "bad.json", "a.yaml", "tool.py"} <= set(named)
    command, *arguments = hook["entry"].split()
    assert command == "trimtab"
    result = call(*arguments, *named)
    assert result.exit_code == 1
    assert {line.partition(":")[0] for line in result.stdout.splitlines() if " error: " in line} == {
        "bad.json",
        "a.yaml",
    }
    assert result.stderr == ""
    assert call(*arguments, "good.json", *FOREIGN).exit_code == 0


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("pre-commit") or not shutil.which("git"), reason="needs pre-commit and git"
)
def test_pre_commit_itself_runs_the_hook(folder):
    (hook,) = YAML(typ="safe").load(HOOK)
    entry = (
        f'{sys.executable} -c "from trimtab.cli.main import main; main()" ' + hook["entry"].partition(" ")[2]
    )
    local = {"repo": "local", "hooks": [hook | {"language": "system", "entry": entry}]}
    (folder / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [local]}))
    for name, text in FOREIGN.items():
        (folder / name).write_text(text)
    for command in (["git", "init", "-q"], ["git", "add", "--", *FOREIGN, "good.json"]):
        subprocess.run(command, cwd=folder, check=True)
    run = ["pre-commit", "run", "--verbose", "--all-files"]
    env = os.environ | {"PRE_COMMIT_HOME": str(folder / "home")}
    done = subprocess.run(run, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    subprocess.run(["git", "add", "--", "bad.json"], cwd=folder, check=True)
    done = subprocess.run(run, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "S104 warmup-longer-than-run error" in done.stdout
    assert "helm" not in done.stdout


@pytest.mark.slow
def test_a_name_that_is_not_utf_8_is_told_in_every_format(folder):
    os.rename(folder / "bad.json", b"bad\xff.json")
    call = [sys.executable, "-c", "from trimtab.cli.main import main; main()", "check", b"bad\xff.json"]
    for more in (["-q"], [], ["--format", "json"], ["--format", "sarif"], ["--format", "github"], ["--diff"]):
        done = subprocess.run([*call, *more], capture_output=True, check=False, cwd=folder)
        assert b"Traceback" not in done.stderr
        assert done.returncode == (0 if more == ["--diff"] else 1)
        if "json" in more or "sarif" in more:
            assert json.loads(done.stdout.decode("utf-8"))
    done = subprocess.run(
        [*call, "--write-baseline", "old.json"], capture_output=True, check=False, cwd=folder
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    done = subprocess.run([*call, "--baseline", "old.json"], capture_output=True, check=False, cwd=folder)
    assert done.returncode == 0

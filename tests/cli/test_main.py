import subprocess
import sys

import pytest

import trimtab
from trimtab.cli import main


def test_help_names_the_commands(call):
    result = call("--help")
    assert result.exit_code == 0
    for command in ["demo", "train", "translate", "evaluate", "init", "schema", "tokenizer", "data"]:
        assert command in result.stdout


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["train"], ["train", "a", "--nothing"], ["translate", "run", "--beam", "0"]]
)
def test_wrong_usage_is_exit_code_2(call, arguments):
    assert call(*arguments).exit_code == 2


def test_the_version_is_that_of_the_package(call):
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"trimtab {trimtab.__version__}\n")


def test_every_command_has_help(call):
    for command in [["demo"], ["train"], ["translate"], ["evaluate"], ["init"], ["schema"], ["tokenizer", "train"],
                    ["data", "inspect"]]:  # fmt: skip
        assert call(*command, "--help").exit_code == 0


def test_nothing_heavy_is_loaded_before_a_command_runs():
    code = "import sys, trimtab.cli.app; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "jaxtyping", "pydantic"} & set(
        loaded
    )


BARE = """
import sys
for name in ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "jaxtyping"):
    sys.modules[name] = None  # as if it were not installed
from trimtab.cli.main import main
main()
"""


def without_the_extra(*arguments):
    command = [sys.executable, "-c", BARE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.quick("--help")
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["train", "--help"], ["init"], ["schema"]], ids=" ".join
)
def test_what_needs_no_torch_runs_without_it(arguments):
    done = without_the_extra(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_without_torch_a_wrong_recipe_is_refused_and_a_right_one_says_what_to_install(recipe):
    done = without_the_extra("train", recipe, "seed=-1")
    assert (done.returncode, done.stderr.partition("   ")[0]) == (2, "error: seed: out of range")
    done = without_the_extra("train", recipe)
    assert done.returncode == 2
    assert 'fix     pip install "trimtab[train]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_the_installed_command_is_this_one():
    assert callable(main.main)
    assert trimtab.__doc__


def test_the_package_is_the_command_too():
    done = subprocess.run(
        [sys.executable, "-m", "trimtab", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"trimtab {trimtab.__version__}\n"


@pytest.mark.quick(">&--check {0}")
@pytest.mark.parametrize(
    "arguments",
    ["check {0}", "check nowhere", "check -", "rules", "explain S104", "explain banana"],
)
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_stream_that_is_closed_changes_no_exit_code_and_makes_no_traceback(
    recipe, tmp_path, arguments, closed
):
    call = f'"{sys.executable}" -c "from trimtab.cli.main import main; main()" {arguments.format(recipe)}'
    codes = []
    for command in (f"{call} </dev/null", f"{call} {closed if '<' in closed else closed + ' </dev/null'}"):
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert "Traceback" not in done.stderr
        codes.append(done.returncode)
    assert codes[0] == codes[1]

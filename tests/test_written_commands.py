"""Commands that the README and the guides show: each command and each of its options is there."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from tests.for_each import for_each
from trimtab.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```(?:\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMANDS = get_command(app).commands


def written(page: Path) -> list[list[str]]:
    """The words of each call of trimtab in the page's blocks of code, without comments."""
    lines = "\n".join(BLOCK.findall(page.read_text(encoding="utf-8"))).replace("\\\n", " ").splitlines()
    calls = [part.strip() for line in lines for part in re.split(r"\s(?:&&|\|)\s|;\s", line.split("  #")[0])]
    calls = [call.removeprefix("$ ").split("    ")[0] for call in calls]
    return [shlex.split(call, comments=True)[1:] for call in calls if call.startswith("trimtab ")]


CALLS = [(page, call) for page in PAGES for call in written(page)]


@for_each(("page", "call"), CALLS, called=lambda each: f"{each[0].stem}: {' '.join(each[1])}")
def test_a_command_that_is_written_down_exists_with_its_options(page: Path, call: list[str]):
    command = COMMANDS[call[0]]
    if hasattr(command, "commands"):
        command = command.commands[call[1]]
    if any(parameter.name == "arguments" for parameter in command.params):  # it reads its options itself
        known = set(re.findall(r"--?[\w-]+", CliRunner().invoke(app, [call[0], "--help"]).output))
    else:
        known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    given = {word.split("=")[0] for word in call if word.startswith("-") and word != "-"}
    assert given <= known | {"--help", "-h"}, page


@pytest.mark.parametrize("page", [ROOT / "README.md"], ids=["README"])
def test_files_that_the_readme_names_in_the_repository_are_there(page: Path):
    named = set(re.findall(r"\b(?:recipes|docs|benchmarks|src)/[\w./]*\w", page.read_text(encoding="utf-8")))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_there_are_many():
    assert len(CALLS) > 50

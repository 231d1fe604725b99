"""Pages of docs/ that tools write: those that are there are those of today's source."""

import re
from pathlib import Path

import pytest

import trimtab
from tests.tools.loaded import load_tool
from trimtab import parts
from trimtab.cli.app import app

ROOT = Path(__file__).parents[2]
commands = load_tool("command_page")
decisions = load_tool("decision_list")


@pytest.fixture(scope="module")
def api():
    return load_tool("api_pages").api_pages()


@pytest.fixture(scope="module")
def page_of_commands():
    return commands.commands_page()


def stored(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_pages_of_functions_are_those_of_the_source(api):
    assert api
    for name, page in api.items():
        assert stored(name) == page, f"{name}: run python tools/write_pages.py"


def test_the_pages_of_commands_and_decisions_are_those_of_today(page_of_commands):
    assert stored(commands.PAGE) == page_of_commands, "run python tools/write_pages.py"
    listed = decisions.decision_list(ROOT / "docs" / "decisions")
    assert stored(decisions.PAGE) == listed, "run python tools/write_pages.py"


def test_every_public_name_has_an_entry_with_its_types_and_a_text(api):
    for page, homes in (("docs/api/trimtab.md", trimtab.HOMES), ("docs/api/parts.md", parts.HOMES)):
        entries = {each.split("\n", 1)[0]: each for each in api[page].split("\n## ")[1:]}
        assert set(entries) == set(homes)
        assert [name for name, text in entries.items() if len(text.split("```")[-1].strip()) < 20] == []
    train = api["docs/api/trimtab.md"].split("\n## train\n")[1].split("\n## ")[0]
    assert re.search(r"^    \*,$(.*\n)+^    out: Path \| str", train, re.MULTILINE)
    assert "](returned.md#" in train


def test_every_command_has_an_entry(page_of_commands):
    for command in app.registered_commands:
        name = command.name or command.callback.__name__.removeprefix("run_").replace("_", "-")
        assert command.hidden or f"### trimtab {name}\n" in page_of_commands, name
    for group in app.registered_groups:
        assert f"### trimtab {group.name} " in page_of_commands
    assert "| `--changes-training` |" in page_of_commands

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tests.for_each import for_each
from trimtab.cli.app import app
from trimtab.cli.check import check_parser
from trimtab.cli.help_words import COMMAND_GROUPS, EXAMPLES, OPTION_GROUPS, OTHER, commands_by_group, group_of

ROOT = get_command(app)


def commands(group: Any = ROOT, before: str = "") -> Iterator[tuple[str, Any]]:
    yield before.strip(), group
    for name, each in getattr(group, "commands", {}).items():
        yield from commands(each, f"{before} {name}")


COMMANDS = dict(commands())


@for_each("name", COMMANDS, called=lambda name: name or "trimtab")
def test_each_command_has_an_example_of_itself(name):
    assert any(f"trimtab {name}".strip() in example for example in EXAMPLES.get(name, ()))


@pytest.mark.parametrize("example", sorted({each for those in EXAMPLES.values() for each in those}))
def test_an_example_is_a_command_line_that_the_parser_takes(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(example.replace('eval "$(', "").replace(')"', "").split(" > ")[0].split(" < ")[0])
    assert words.pop(0) == "trimtab"
    for word in words:
        if Path(word).suffix and "=" not in word:
            Path(word).parent.mkdir(parents=True, exist_ok=True)
            Path(word).touch()
    command: Any = ROOT
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    if command.name == "check":
        assert check_parser(words).parse_args(words).files
    else:
        assert command.make_context(command.name, words).command is command


def test_groups_of_options_name_options_that_are_there():
    there = {option for each in COMMANDS.values() for param in each.params for option in param.opts}
    there |= {option for action in check_parser(())._actions for option in action.option_strings}
    named = {option for those in OPTION_GROUPS.values() for option in those}
    assert named <= there | {"--threads", "--reset"}
    assert group_of(["--beam"]) == "Search"
    assert group_of(["--out"]) == "Options"


def test_a_command_of_no_group_is_listed_with_the_others():
    assert commands_by_group(["train", "juggle"]) == {"Train": ["train"], OTHER: ["juggle"]}


def test_every_command_has_its_group():
    named = {name for those in COMMAND_GROUPS.values() for name in those}
    assert {*ROOT.commands} <= named

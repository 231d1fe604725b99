from typing import get_type_hints

import pytest

from tests.cli.refusal import has_four_parts, refused
from tests.cli.test_help_words import COMMANDS
from trimtab.cli.command_help import holds_path
from trimtab.cli.help_words import EXAMPLES


@pytest.mark.parametrize("name", COMMANDS, ids=lambda name: name or "trimtab")
def test_all_pages_look_alike(call, name):
    words = name.split()
    page = call(*words, "-h")
    assert page.exit_code == 0
    if name in ("", "train", "check"):
        assert page.stdout == call(*words, "--help").stdout
    lines = page.stdout.splitlines()
    usage = next(
        number
        for number, line in enumerate(lines)
        if line.startswith("Usage: trimtab" + " " * bool(name) + name)
    )
    assert lines[0][0].isupper()
    assert lines[usage - 1] == ""
    assert "Examples:" in lines[usage:]
    assert [example for example in EXAMPLES[name] if f"  {example}" not in lines] == []
    assert any("-h, --help" in line for line in lines)
    assert "\u256d" not in page.stdout


def test_options_stand_in_groups_with_their_values_and_defaults(call):
    text = " ".join(call("translate", "-h").stdout.split())
    assert "Search: --beam N" in text
    assert "1 is greedy. [default: 4]" in text
    assert "--stop exact|enough" in text
    assert "Sampling: --sample Sample translations" in text


def test_an_argument_of_a_few_words_names_them(call):
    assert "One of translation, language_model, classification" in " ".join(call("init", "-h").stdout.split())


def test_the_list_of_commands_is_in_groups(call):
    text = call("-h").stdout
    assert text.index("Start:") < text.index("Train:") < text.index("  train ") < text.index("Look up:")


PATHS = [
    (name, param)
    for name, command in COMMANDS.items()
    if command.callback is not None
    for param in command.params
    if holds_path(get_type_hints(command.callback).get(param.name))
]


@pytest.mark.quick("train --out", "data clean --out", "recognise images")
@pytest.mark.parametrize(
    ("name", "param"), PATHS, ids=[f"{name} {max(param.opts, key=len)}" for name, param in PATHS]
)
def test_an_empty_path_is_refused_by_every_command(call, tmp_path, monkeypatch, name, param):
    monkeypatch.chdir(tmp_path)
    option = max(param.opts, key=len)
    is_option = option.startswith("-")
    arguments = [each.name for each in COMMANDS[name].params if not max(each.opts, key=len).startswith("-")]
    given = [option, ""] if is_option else [*"x" * arguments.index(param.name), ""]
    message = refused(call(*name.split(), *given), f"{option if is_option else option.upper()}: is empty")
    assert has_four_parts(message)
    assert not list(tmp_path.iterdir())


def test_paths_are_taken_from_every_command_that_has_any():
    assert {
        "train",
        "translate",
        "evaluate",
        "average",
        "export",
        "data clean",
        "shortlist",
        "vocabulary trim",
    } <= {name for name, _ in PATHS}

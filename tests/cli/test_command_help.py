import pytest

from tests.cli.test_help_words import COMMANDS
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

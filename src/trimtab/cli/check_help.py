"""The help page of `trimtab check`, in the look of all others, and its options for the shell to complete."""

import argparse
from typing import NamedTuple

from trimtab.cli.help_page import ARGUMENTS, HelpPage, Row, grouped, render, to_terminal
from trimtab.cli.help_words import EXAMPLES, group_of


class Suggestion(NamedTuple):
    """A word that a shell may complete to."""

    value: str
    help: str
    type: str = "plain"


def check_help(parser: argparse.ArgumentParser) -> str:
    """The page as the terminal shows it."""
    return render(check_page(parser), bold=to_terminal())


def check_page(parser: argparse.ArgumentParser) -> HelpPage:
    """The page from the options of the parser."""
    return HelpPage(
        about=parser.description or "",
        usage=f"{parser.prog} [OPTIONS] FILE...",
        sections=grouped([_row(each) for each in parser._actions]),
        examples=EXAMPLES["check"],
        ending=parser.epilog or "",
    )


def suggestions(parser: argparse.ArgumentParser, begun: str) -> list[Suggestion]:
    """The options that begin so."""
    return [
        Suggestion(name, action.help or "")
        for action in parser._actions
        for name in action.option_strings
        if name.startswith(begun or "--")
    ]


def _row(action: argparse.Action) -> tuple[str, Row]:
    words = action.help or ""
    meaning = f"{words[:1].upper()}{words[1:]}."
    if not action.option_strings:
        return ARGUMENTS, Row(str(action.metavar), meaning)
    value = str(action.metavar or "|".join(action.choices or ()))
    names = ", ".join(action.option_strings) + (f" {value}" if action.nargs != 0 else "")
    default = f" [default: {action.default}]" if action.choices else ""
    return group_of(action.option_strings), Row(names, meaning + default)

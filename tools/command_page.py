"""`docs/commands.md`: every command with its options and examples, from what `--help` shows."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from trimtab.cli.app import app
from trimtab.cli.check import check_parser
from trimtab.cli.check_help import check_page
from trimtab.cli.command_help import command_page
from trimtab.cli.help_page import HelpPage
from trimtab.cli.help_words import commands_by_group

PAGE = "docs/commands.md"


def commands_page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    root: Any = get_command(app)
    context = root.context_class(root, info_name="trimtab")
    yield from ("# Commands", "", "<!-- Written by tools/write_pages.py from the commands. -->", "")
    yield (
        "`trimtab COMMAND -h` prints what this page has of a command. Exit codes are the same for all of them "
        "([list](how_it_works.md#exit-codes)); recipe keys can be set as `KEY=VALUE` after the recipe "
        "([all keys](recipe.md))."
    )
    names = [name for name in root.list_commands(context) if not root.get_command(context, name).hidden]
    for title, those in commands_by_group(names).items():
        yield from ("", f"## {title}")
        for name in those:
            command = root.get_command(context, name)
            below = root.context_class(command, info_name=name, parent=context)
            if hasattr(command, "list_commands"):
                for inner in command.list_commands(below):
                    each = command.get_command(below, inner)
                    yield from _command(f"{name} {inner}", each, below, inner)
            else:
                yield from _command(name, command, context, name)


def _command(name: str, command: Any, parent: Any, last: str) -> Iterator[str]:
    context = command.context_class(command, info_name=last, parent=parent)
    page = check_page(check_parser(())) if name == "check" else command_page(command, context)
    yield from ("", f"### trimtab {name}", "", _paragraphs(page.about), "")
    yield from ("```", page.usage, "```")
    yield from _options(page)
    if page.examples:
        yield from ("", "Examples:", "", "```", *page.examples, "```")


def _options(page: HelpPage) -> Iterator[str]:
    for title, rows in page.sections.items():
        rows = [row for row in rows if row.name != "--help"]
        if rows:
            yield from ("", f"| {title.lower()} | meaning |", "| --- | --- |")
        for row in rows:
            yield f"| `{_cell(row.name)}` | {_cell(_words(row.meaning))} |"


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(each.split()) for each in text.replace("\b", "").split("\n\n"))


def _words(text: str) -> str:
    """On one line; placeholders in angle brackets would be HTML."""
    return " ".join(text.split()).replace("<", "&lt;")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

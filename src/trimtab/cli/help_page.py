"""The help page of a command: one look for all of them, whatever reads the command's options."""

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

WIDEST, NARROWEST = 100, 40
"""Columns of a page: lines that are longer than 100 are hard to read."""
LONGEST_NAME = 26
"""A name that is longer has its meaning below it."""
ARGUMENTS, OPTIONS = "Arguments", "Options"


@dataclass(frozen=True, slots=True)
class Row:
    """An option, an argument or a command, and what it means."""

    name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class HelpPage:
    """What a page says, in this order."""

    about: str
    """What the command does: a sentence, then paragraphs."""
    usage: str
    sections: Mapping[str, Sequence[Row]] = field(default_factory=dict[str, Sequence[Row]])
    """Rows by the title above them."""
    examples: Sequence[str] = ()
    ending: str = ""
    """Exit codes, and where to read more."""


def render(page: HelpPage, *, width: int | None = None, bold: bool = False) -> str:
    """The page as text; `width` is that of the terminal by default, `bold` sets titles in bold type."""
    width = max(NARROWEST, min(WIDEST, width or shutil.get_terminal_size().columns))
    return "\n".join(_lines(page, width, bold=bold)) + "\n"


def to_terminal() -> bool:
    """Whether titles may be bold where standard output goes."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def grouped(rows: Sequence[tuple[str, Row]]) -> dict[str, list[Row]]:
    """Rows by their titles: arguments first, what has no group of its own (`Options`) next, then the others."""
    titles = dict.fromkeys((ARGUMENTS, OPTIONS, *(title for title, _ in rows)))
    found = {title: [row for each, row in rows if each == title] for title in titles}
    return {title: those for title, those in found.items() if those}


def first_sentence(text: str) -> str:
    """The first sentence of a description, without its period, for a list of commands."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")


def _lines(page: HelpPage, width: int, *, bold: bool) -> Iterator[str]:
    for paragraph in page.about.strip().split("\n\n"):
        yield from (*textwrap.wrap(" ".join(paragraph.split()), width), "")
    yield from _usage_lines(page.usage, width, bold=bold)
    for title, rows in page.sections.items():
        yield from ("", _title(title, bold=bold))
        yield from _row_lines(rows, width)
    if page.examples:
        yield from ("", _title("Examples", bold=bold), *(f"  {example}" for example in page.examples))
    if page.ending:
        yield ""
        for paragraph in page.ending.strip().split("\n"):
            yield from textwrap.wrap(paragraph, width)


def _title(words: str, *, bold: bool) -> str:
    return f"\x1b[1m{words}:\x1b[0m" if bold else f"{words}:"


def _usage_lines(usage: str, width: int, *, bold: bool) -> Iterator[str]:
    wrapped = textwrap.wrap(usage, width - 7, subsequent_indent="  ", break_on_hyphens=False)
    for number, line in enumerate(wrapped):
        yield f"{_title('Usage', bold=bold)} {line}" if number == 0 else f"       {line}"


def _row_lines(rows: Sequence[Row], width: int) -> Iterator[str]:
    names = [len(row.name) for row in rows if len(row.name) <= LONGEST_NAME]
    column = max(names, default=LONGEST_NAME) + 4
    for row in rows:
        wrapped = textwrap.wrap(" ".join(row.meaning.split()), width - column, break_on_hyphens=False) or [""]
        if len(row.name) > column - 4:
            yield f"  {row.name}"
        else:
            yield f"  {row.name:<{column - 2}}{wrapped.pop(0)}".rstrip()
        yield from (" " * column + line for line in wrapped)

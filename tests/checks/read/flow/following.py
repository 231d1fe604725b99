"""The flow of a text, for tests."""

import ast
from textwrap import dedent

from trimtab.checks.place import Place
from trimtab.checks.read.flow.follow import follow


def flow(text):
    """What a script does; places have its lines."""
    return follow(ast.parse(dedent(text)), lambda node: Place("s.py", node.lineno, node.col_offset + 1))


def lines(events):
    """The lines at which events happen."""
    return [event.place.line for event in events]

"""Commands in messages can be copied into a shell, whatever the paths in them are called."""

import ast
import re
from pathlib import Path

import pytest

from tests.for_each import for_each

SOURCE = Path(__file__).parent.parent / "src" / "trimtab"
COMMAND = re.compile(r"(?:^|[`|\s])(?:trimtab [a-z]+|chmod \S+)(?: [a-z-]+)* $")
"""What stands before the first argument of a command."""
WORDS = {"finding.code", "word", "step", "refusals.onset or state.step", "self.action"}
"""Values that never need quotes."""
USE = ("exported.py", "train.py", "init.py", "input_file.py", "errors.py")


def unquoted(path):
    """Each value in a command of an f-string that is not quoted for a shell, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before += str(part.value)
                continue
            expression = ast.unparse(part.value)
            is_quoted = isinstance(part.value, ast.Call) and ast.unparse(part.value.func).endswith("quote")
            if COMMAND.search(before) and not is_quoted and expression not in WORDS:
                yield f"{path.relative_to(SOURCE)}:{part.lineno}: {before[-30:]}{{{expression}}}"
            before += "…"


@pytest.mark.slow
def test_no_path_stands_in_a_command_without_quotes():
    assert [each for path in sorted(SOURCE.rglob("*.py")) for each in unquoted(path)] == []


@for_each("name", ["a b", "it's", "$HOME", "a;b"])
def test_a_command_with_a_strange_path_names_that_path(name):
    import shlex

    from trimtab.errors import unreadable

    (problem,) = unreadable(PermissionError(13, "denied"), name).problems
    command = re.search(r"`(chmod [^`]*)`", problem.fix)
    assert command is not None
    assert shlex.split(command[1])[-1] == name

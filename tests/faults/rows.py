"""The rows of the fault suite: what can go wrong, what should happen, and which tests make it happen."""

import ast
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("rows.toml")
ROOT = Path(__file__).parents[2]
STATES = {
    "ci": "at every change",
    "full": "in part with `just faults` only",
    "gpu": "on a GPU",
    "absent": "nothing to test",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One fault."""

    number: int
    fault: str
    right: str
    """What should happen."""
    state: str
    """A key of `STATES`."""
    tests: tuple[str, ...] = ()
    """`path::function`."""
    note: str = ""
    """What is missing, or not as one would wish."""


def read_rows() -> list[Row]:
    """All of them, in their order."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["row"]
    return [Row(**{**row, "tests": tuple(row.get("tests", ()))}) for row in rows]


@cache
def functions_in(path: Path) -> frozenset[str]:
    """The functions of a test file, those in classes too."""
    found = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(node.name for node in found if isinstance(node, ast.FunctionDef))


def is_there(test: str) -> bool:
    """Whether a test of this name can be collected."""
    path, _, name = test.partition("::")
    file = ROOT / path
    return name.startswith("test_") and file.exists() and name in functions_in(file)

"""The unpacked source of one version of a tool."""

import ast
from dataclasses import dataclass
from pathlib import Path

Row = dict[str, object]
Rows = dict[str, Row]


@dataclass(frozen=True)
class Tree:
    """A folder with the files of one version."""

    version: str
    folder: Path

    def text(self, file: str) -> str | None:
        """What stands in a file; None if this version has no such file."""
        path = self.folder / file
        return path.read_text(encoding="utf-8") if path.exists() else None

    def module(self, *files: str) -> ast.Module:
        """The syntax tree of several files as one; files that are not there are left out."""
        bodies = [ast.parse(text).body for file in files if (text := self.text(file)) is not None]
        return ast.Module([statement for body in bodies for statement in body], [])


def read_tree(argument: str) -> Tree:
    """`5.24.0=/folder` from the command line."""
    version, _, folder = argument.partition("=")
    if not folder or not Path(folder).is_dir():
        raise SystemExit(f"not VERSION=FOLDER, or no such folder: {argument}")
    return Tree(version, Path(folder))

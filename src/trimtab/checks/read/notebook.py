"""A notebook to the Python of its code cells, with the places of the notebook file."""

import ast
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from trimtab.checks.document import Call, Document
from trimtab.checks.place import Place
from trimtab.checks.read.json import scan_parts
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.nodes import MappingNode, Node, ScalarNode, SequenceNode
from trimtab.checks.read.python import Code, parse
from trimtab.checks.read.shell import calls_of
from trimtab.checks.read.words import split
from trimtab.checks.record import record
from trimtab.errors import InputError, input_error

_MAGIC = re.compile(
    r"^([ \t]*)((?:\w+[ \t]*=[ \t]*)?[%!?](?:[^\n]*\\\n)*[^\n]*|[\w.]+\?{1,2}[ \t]*$)", re.MULTILINE
)
"""A line that is IPython's own, with the lines that continue it."""
_CELL_MAGIC = re.compile(r"\s*%%(\w+)[^\n]*")
_SHELLS = frozenset(("bash", "sh", "shell", "script"))
_STILL_PYTHON = frozenset(("capture", "prun", "time", "timeit"))
_KEYS = {0: ("cells",), 2: ("cell_type", "source")}
"""By depth, the keys of a notebook that matter."""
_BRACES = re.compile(r"\{[^{}\n]*\}")
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)


@record
class _Piece:
    """One JSON string of code: where it begins in the code, and in the file."""

    at: int
    inside: "array[int]"
    """For each character of the code its offset in the file, and one more for the end."""


def read_notebook(path: str, text: str) -> Document:
    """Reads a notebook; a cell that is not Python is left out, unless none is Python."""
    lines = Lines(path, text)
    notebook = _Notebook(lines)
    cells = list(_sources(scan_parts(lines, _KEYS), lines))
    for source in cells:
        notebook.add(source)
    if notebook.tree() is None:
        notebook = _Notebook(lines, is_careful=True)
        for source in cells:
            notebook.add(source)
    if notebook.first_error is not None and not notebook.num_read:
        raise notebook.first_error
    return notebook.document()


class _Notebook:
    """Gathers the code of cells into one text, and remembers where each piece of it is in the file."""

    def __init__(self, lines: Lines, *, is_careful: bool = False) -> None:
        self.lines = lines
        self.is_careful = is_careful
        """Whether each cell is parsed by itself, because all of them together are not Python."""
        self.code: list[str] = []
        self.pieces: list[_Piece] = []
        self.begins: list[int] = []
        """Where each piece begins in the code."""
        self.length = 0
        self.num_read = 0
        self.first_error: InputError | None = None
        self.commands: list[Call] = []
        self.whole: ast.Module | None = None

    def add(self, source: list[ScalarNode]) -> None:
        """One cell."""
        pieces = list(_pieces(source, self.length, self.lines.text))
        self.pieces += pieces
        self.begins += [piece.at for piece in pieces]
        written = "".join(node.text for node in source)
        code = self._python(written)
        self.num_read += 1
        if self.is_careful:
            try:
                parse(Lines(self.lines.path, code))
            except InputError as error:
                self.num_read -= 1
                self.first_error = self.first_error or self._moved(error, source)
                code = _blank(code)
        self.code.append(code + "\n")
        self.length += len(code) + 1

    def _python(self, code: str) -> str:
        """The cell with all that is not Python blanked; its commands are taken on the way."""
        magic = _CELL_MAGIC.match(code)
        if magic is not None:
            if magic[1] in _SHELLS:
                self._run(code[magic.end() :], magic.end())
            if magic[1] not in _STILL_PYTHON:
                return _blank(code)
            code = _blank(magic[0]) + code[magic.end() :]
        if _MAGIC.search(code) is None:
            return code
        try:
            parse(Lines(self.lines.path, code))
        except InputError:
            return _MAGIC.sub(self._without_magic, code)
        return code

    def _without_magic(self, found: re.Match[str]) -> str:
        if found[2].startswith("!"):
            self._run(found[2][1:], found.start(2) + 1)
        return found[1] + "0" + _blank(found[2][1:])  # a block may not be empty

    def _run(self, text: str, begins: int) -> None:
        base = self.length + begins
        text = _BRACES.sub(lambda braces: "$" + "x" * (len(braces[0]) - 1), text)
        found = split(text).commands
        self.commands += calls_of(found, lambda start, end: self.span(base + start, base + end))

    def tree(self) -> ast.Module | None:
        """The syntax tree of all cells together; None where they are not Python."""
        try:
            self.whole = parse(Lines(self.lines.path, "".join(self.code)))
        except InputError:
            return None
        return self.whole

    def document(self) -> Document:
        """All cells as one script, so that a name of an early cell is known in a later one."""
        inner = Lines(self.lines.path, "".join(self.code))
        code = Code(self.whole or parse(inner), inner, self.span)
        calls = sorted([*code.calls(), *self.commands], key=lambda call: call.place)
        comments = tuple(
            (self.lines.position(self._offset(inner.starts[line - 1]))[0], comment)
            for line, comment in code.comments()
        )
        return Document(
            path=self.lines.path,
            syntax="python",
            text=self.lines.text,
            calls=tuple(calls),
            parsed=code.parsed(),
            commands=tuple(self.commands),
            imports=code.imports,
            sources=code.sources,
            comments=comments,
            flow=code.flow(),
        )

    def span(self, start: int, end: int) -> Place:
        """The place in the file of a stretch of code."""
        begins = self._offset(start)
        return self.lines.place(begins, self._offset(end - 1, behind=1) if end > start else begins)

    def _offset(self, at: int, *, behind: int = 0) -> int:
        """Of a character of the code, or of what follows it."""
        index = bisect_right(self.begins, at) - 1
        if index < 0:
            return 0
        piece = self.pieces[index]
        return piece.inside[min(at - piece.at + behind, len(piece.inside) - 1)]

    def _moved(self, error: InputError, source: list[ScalarNode]) -> InputError:
        problem = error.problems[0]
        return input_error(
            f"no cell is Python; the first: {problem.what}",
            fix="open it as a notebook and fix the cells",
            where=self.lines.where(source[0].start) if source else self.lines.path,
        )


def _sources(root: Node, lines: Lines) -> Iterator[list[ScalarNode]]:
    cells = _member(root, "cells")
    if not isinstance(cells, SequenceNode):
        raise input_error(
            f"{lines.path}: not a notebook",
            allowed="an object with a list of `cells` (format 4)",
            where=lines.path,
        )
    for cell in cells.items:
        kind, source = _member(cell, "cell_type"), _member(cell, "source")
        if isinstance(kind, ScalarNode) and kind.value == "code":
            parts = source.items if isinstance(source, SequenceNode) else [source]
            yield [part for part in parts if isinstance(part, ScalarNode) and isinstance(part.value, str)]


def _member(node: Node, key: str) -> Node | None:
    if not isinstance(node, MappingNode):
        return None
    return next((value for name, value in node.pairs if name.text == key), None)


def _pieces(source: list[ScalarNode], length: int, text: str) -> Iterator[_Piece]:
    for node in source:
        yield _Piece(length, array("L", _offsets(text, node.start + 1, node.end - 1)))
        length += len(node.text)


def _offsets(text: str, start: int, end: int) -> Iterable[int]:
    escaped = text.find("\\", start, end)
    if escaped < 0:
        return range(start, end + 1)
    if escaped == end - 2:  # the end of a line alone
        return [*range(start, end - 1), end]
    return [*(found.start() for found in _ESCAPE.finditer(text, start, end)), end]


def _blank(code: str) -> str:
    return re.sub(r"[^\n]", " ", code)

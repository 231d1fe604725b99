"""Edits of the keyword arguments of a call in a script."""

import ast
import io
import keyword
import tokenize
from collections.abc import Iterator

from trimtab.checks.document import Document
from trimtab.checks.edits import AddKey, Edit, RemoveKey, RenameKey, SetValue
from trimtab.checks.fix.arguments import target
from trimtab.checks.fix.mapping import Cut, newline_of
from trimtab.checks.fix.tree import CannotMend, added_name, new_name
from trimtab.checks.place import Place
from trimtab.checks.record import record


@record
class _Argument:
    """What stands between two commas of a call, and the comma behind it (-1 if there is none)."""

    start: int
    end: int
    comma: int


def edit_python(text: str, document: Document, edit: Edit, at: Place) -> str:
    """The text of a script with one edit made."""
    _, entry = target(document, edit, at)
    starts = _line_starts(text)
    call, word = _keyword(text, starts, entry.place)
    arguments = list(_arguments(text, starts, call))
    start = _offset(text, starts, word.lineno, word.col_offset)
    index = next((number for number, each in enumerate(arguments) if each.start == start), None)
    if index is None:
        raise CannotMend("the call is not written in the form that is expected here")
    assert word.arg is not None
    value_start = _offset(text, starts, word.value.lineno, word.value.col_offset)
    match edit:
        case SetValue() if entry.is_option or isinstance(word.value, ast.Attribute | ast.Subscript):
            raise CannotMend("the value is written elsewhere: change it there")
        case SetValue():
            end = _offset(text, starts, word.value.end_lineno or 0, word.value.end_col_offset or 0)
            cut = Cut(value_start, end, repr(edit.value))
        case RenameKey():
            cut = Cut(start, start + len(word.arg), _name(new_name(edit)))
        case RemoveKey():
            cut = _remove(text, arguments, index)
        case AddKey():
            cut = _add(text, arguments[index], f"{_name(added_name(edit))}={edit.value!r}")
    return cut.applied(text)


def _name(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise CannotMend(f"`{name}` is no name of an argument")
    return name


def _keyword(text: str, starts: list[int], place: Place) -> tuple[ast.Call, ast.keyword]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        raise CannotMend("the file is not a plain script") from None
    for node in ast.walk(tree):
        for word in node.keywords if isinstance(node, ast.Call) else ():
            start = _offset(text, starts, word.lineno, word.col_offset)
            if word.arg and (word.lineno, start - starts[word.lineno - 1] + 1) == (place.line, place.column):
                assert isinstance(node, ast.Call)
                return node, word
    raise CannotMend(f"it is no keyword of a call; change line {place.line} by hand")


def _arguments(text: str, starts: list[int], call: ast.Call) -> Iterator[_Argument]:
    begin = _offset(text, starts, call.func.end_lineno or 0, call.func.end_col_offset or 0)
    end = _offset(text, starts, call.end_lineno or 0, call.end_col_offset or 0)
    inside = text[begin:end]
    inner = _line_starts(inside)
    depth, first, last = 0, -1, -1
    skipped = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(inside, newline="").readline):
        start, stop = (begin + inner[row - 1] + column for row, column in (token.start, token.end))
        if token.string in ("(", "[", "{") and token.type == tokenize.OP:
            depth += 1
            if depth == 1:
                continue
        closes = token.type == tokenize.OP and token.string in (")", "]", "}")
        depth -= closes
        if depth == 0:
            break
        if depth == 1 and token.type == tokenize.OP and token.string == ",":
            yield _Argument(first, last, start)
            first = last = -1
        elif token.type not in skipped:
            first, last = (start if first < 0 else first), stop
    if first >= 0:
        yield _Argument(first, last, -1)


def _remove(text: str, arguments: list[_Argument], index: int) -> Cut:
    here = arguments[index]
    stop = here.end if here.comma < 0 else here.comma + 1
    begin = text.rfind("\n", 0, here.start) + 1
    line_end = text.find("\n", stop)
    rest = text[stop:line_end].strip()
    if not text[begin : here.start].strip() and line_end >= 0 and (not rest or rest.startswith("#")):
        return Cut(begin, line_end + 1)
    if index + 1 < len(arguments) and not text[stop : arguments[index + 1].start].strip():
        return Cut(here.start, arguments[index + 1].start)
    if index and not text[arguments[index - 1].end : here.start].strip(", \t\r\n"):
        return Cut(arguments[index - 1].end, here.end)
    return Cut(here.start, stop)


def _add(text: str, after: _Argument, written: str) -> Cut:
    begin = text.rfind("\n", 0, after.start) + 1
    indent = text[begin : after.start]
    if indent.strip():
        return Cut(after.end, after.end, ", " + written)
    line_end = text.find("\n", after.comma)
    rest = text[after.comma + 1 : line_end].strip()
    if after.comma >= 0 and line_end >= 0 and (not rest or rest.startswith("#")):
        return Cut(line_end + 1, line_end + 1, f"{indent}{written},{newline_of(text)}")
    return Cut(after.end, after.end, f",{newline_of(text)}{indent}{written}")


def _line_starts(text: str) -> list[int]:
    return [0, *(index + 1 for index, character in enumerate(text) if character == "\n")]


def _offset(text: str, starts: list[int], line: int, byte: int) -> int:
    """The syntax tree counts columns in bytes of UTF-8."""
    begin = starts[line - 1]
    if text[begin : begin + byte].isascii():
        return begin + byte
    line_text = text[begin : starts[line] if line < len(starts) else len(text)]
    return begin + len(line_text.encode()[:byte].decode())

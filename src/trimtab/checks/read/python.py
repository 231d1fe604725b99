"""A script to the calls in it, by its syntax tree; nothing of it is imported or run."""

import ast
import re
import sys
import warnings
from array import array
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from trimtab.checks.document import UNKNOWN, Call, Document, Entry
from trimtab.checks.place import Place
from trimtab.checks.read.arguments import Arguments, Positional
from trimtab.checks.read.comments import comments_outside
from trimtab.checks.read.flow.follow import Module, follow
from trimtab.checks.read.flow.values import Flow
from trimtab.checks.read.limits import MAX_CALLS, MAX_RAW, refuse_long_code
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.literals import Literals, dotted_name
from trimtab.checks.read.records import Held
from trimtab.checks.read.scopes import Scope, Survey, survey
from trimtab.errors import InputError, input_error

FOLLOWED = frozenset(
    {
        "accelerate", "albumentations", "bitsandbytes", "datasets", "deepspeed", "diffusers", "lightning",
        "lightning_fabric", "onnxruntime", "peft", "pytorch_lightning", "sentence_transformers",
        "timm", "torch", "torchao", "torchvision", "transformers", "trl", "unsloth",
        "x_transformers",
    }
)  # fmt: skip
"""Packages of which a script uses one where it is worth following."""
Span = Callable[[int, int], Place]
"""From the offsets of a stretch of code to its place in the file."""


def read_python(path: str, text: str, *, beside: Callable[[str], Lines | None] | None = None) -> Document:
    """Reads a script, and what it calls of modules `beside` it; raises InputError with `path:line:column` where it is
    not Python."""
    lines = Lines(path, text)
    tree = parse(lines)
    code = Code(tree, lines, lines.place, beside=beside)
    return Document(
        path=path,
        syntax="python",
        text=text,
        calls=code.calls(),
        parsed=code.parsed(),
        imports=code.imports,
        sources=code.sources,
        comments=code.comments(),
        flow=code.flow(),
    )


def parse(lines: Lines) -> ast.Module:
    """The syntax tree; whatever Python's parser raises is an InputError."""
    refuse_long_code(lines)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _parsed(lines.text)
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), len(lines.starts))
        raise input_error(
            f"not Python: {error.msg}"[:200],
            allowed="Python {}.{}, with which trimtab runs".format(*sys.version_info),
            fix="`python -m py_compile` shows the line; if it is a newer Python's, run trimtab with that one",
            where=f"{lines.path}:{line}:{max(error.offset or 1, 1)}",
        ) from None
    except (RecursionError, MemoryError):
        raise input_error(
            "nested too deeply",
            got="more brackets or operators than Python itself takes",
            allowed="a script that Python can read",
            fix="break the long expression up",
            where=lines.path,
        ) from None
    except (ValueError, UnicodeError) as error:
        raise input_error(f"not Python: {error}"[:200], where=lines.path) from None


_UNBRACKETED = re.compile(r"(?m)^[ \t]*except\*?[ \t]+[\w.]+(?:[ \t]*,[ \t]*[\w.]+)+(?=[ \t]*:)")


def _parsed(text: str) -> ast.Module:
    """The syntax tree; `except A, B:` of Python 3.14 is read by older ones too, every character where it was."""
    try:
        return ast.parse(text)
    except SyntaxError as error:
        if "must be parenthesized" not in str(error.msg):
            raise
        return ast.parse(_UNBRACKETED.sub(lambda found: found[0].replace(",", "|"), text))


class Code:
    """A parsed script with its text; `span` tells places of the file that holds it."""

    def __init__(
        self,
        tree: ast.Module,
        lines: Lines,
        span: Span,
        *,
        beside: Callable[[str], Lines | None] | None = None,
    ) -> None:
        self.tree = tree
        self.beside = beside
        self.lines = lines
        self.span = span
        self.wide: dict[int, array[int]] = {}
        self.is_ascii = lines.text.isascii()
        self.is_direct = self.is_ascii and span == lines.place
        """Whether the parser's lines and columns are those of the file."""

    @cached_property
    def survey(self) -> Survey:
        """What the whole tree holds; of a module beside a script, where only places are asked for, never made."""
        return survey(self.tree)

    @cached_property
    def literals(self) -> Literals:
        """Values that are written out."""
        return Literals(self.survey)

    @property
    def imports(self) -> frozenset[str]:
        """Top-level packages that are imported."""
        return frozenset(self.survey.imports)

    @property
    def sources(self) -> dict[str, frozenset[str]]:
        """What `from ... import` brings, to the packages that it comes from."""
        return {name: frozenset(packages) for name, packages in self.survey.sources.items()}

    def calls(self) -> tuple[Call, ...]:
        """Every call of a named thing, in the order of the file."""
        named = ((node, scope, dotted_name(node.func, {})) for node, scope in self.survey.calls[:MAX_CALLS])
        return tuple(self._call(node, scope) for node, scope, name in named if name or _method(node))

    def parsed(self) -> tuple[Call, ...]:
        """Classes of libraries that a parser of dataclasses fills, as calls with the defaults that the script gives."""
        if "HfArgumentParser" not in self.lines.text and "TrlParser" not in self.lines.text:
            return ()
        found: list[Call] = []
        for each in self.literals.records.parsed_classes():
            qualifier, _, name = (
                dotted_name(each.of, self.survey.origins).rpartition(".") if each.of else ("", "", "")
            )
            fields = {key: self._field(key, held) for key, held in each.fields.items()}
            place = self.spot(each.node)
            found.append(Call(name=name, qualifier=qualifier, arguments=fields, has_rest=True, place=place))
        return tuple(found)

    def _field(self, key: str, held: Held) -> Entry:
        start, end = self._offsets(held.node)
        place = self.span(start, end)
        raw = self.lines.text[start:end] if end - start <= MAX_RAW else ""
        value = self.literals.held(held)
        return Entry(key=key, value=value, raw=raw, place=place, value_place=place, is_option=True)

    def flow(self) -> Flow | None:
        """What the script does, where it uses a library of the field."""
        if not self.survey.imports & FOLLOWED:
            return None
        return follow(self.tree, self.spot, self.lines, None if self.beside is None else self._module)

    def spot(self, node: ast.AST) -> Place:
        """Where a node is."""
        if self.is_direct:
            at: Any = node
            end_line, end = at.end_lineno or at.lineno, at.end_col_offset or at.col_offset
            return Place(self.lines.path, at.lineno, at.col_offset + 1, end_line, end + 1)
        return self.span(*self._offsets(node))

    def _module(self, name: str) -> Module | None:
        lines = self.beside(name) if self.beside is not None else None
        if lines is None:
            return None
        try:
            tree = parse(lines)
        except InputError:
            return None
        return Module(tree, Code(tree, lines, lines.place).spot, lines.text)

    def comments(self) -> tuple[tuple[int, str], ...]:
        """Line and text of each comment."""
        if "#" not in self.lines.text:
            return ()
        texts = (self._offsets(node) for node in self.survey.texts if _may_hold_hash(node))
        return comments_outside(texts, self.lines)

    def _call(self, node: ast.Call, scope: Scope) -> Call:
        qualifier, _, name = dotted_name(node.func, self.survey.origins).rpartition(".")
        variable = self.survey.assigned_to.get(node)
        has_rest = any(isinstance(argument, ast.Starred) for argument in node.args) or any(
            keyword.arg is None and self.literals.mapping(keyword.value, scope) is None
            for keyword in node.keywords
        )
        is_bare = not node.keywords and variable is None
        return Call(
            name=name or _method(node),
            qualifier=qualifier,
            arguments={} if is_bare else Arguments(lambda: self._arguments(node, scope)),
            positional=Positional(len(node.args), lambda: self._values(node, scope)) if node.args else (),
            has_rest=has_rest or (variable is not None and variable in self.survey.opened),
            place=self.spot(node),
        )

    def _values(self, node: ast.Call, scope: Scope) -> tuple[Any, ...]:
        return tuple(self.literals.value(argument, scope) for argument in node.args)

    def _arguments(self, node: ast.Call, scope: Scope) -> dict[str, Entry]:
        arguments: dict[str, Entry] = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                arguments[keyword.arg] = self._entry(keyword.arg, keyword.value, keyword, scope)
            elif (pairs := self.literals.mapping(keyword.value, scope)) is not None:
                arguments |= {key: self._entry(key, value, at, scope) for key, value, at in pairs}
        variable = self.survey.assigned_to.get(node)
        return arguments if variable is None else arguments | self._overwritten(variable)

    def _overwritten(self, variable: str) -> dict[str, Entry]:
        """What is set on the result later: whatever the call said of it, the value is unknown."""
        return {
            node.attr: Entry(
                key=node.attr,
                value=UNKNOWN,
                raw="",
                place=self.span(*self._offsets(node)),
                value_place=self.span(*self._offsets(node)),
            )
            for node in self.survey.attributes.get(variable, ())
        }

    def _entry(self, key: str, value: ast.expr, at: ast.expr | ast.keyword, scope: Scope) -> Entry:
        start, end = self._offsets(at)
        if isinstance(at, ast.keyword) and at.arg is not None:
            end = start + len(at.arg)
        value_start, value_end = self._offsets(value)
        is_short = value_end - value_start <= MAX_RAW
        self.literals.from_option = False
        known = self.literals.value(value, scope)
        return Entry(
            key=key,
            value=known,
            raw=self.lines.text[value_start:value_end] if is_short else "",
            place=self.span(start, end),
            value_place=self.span(value_start, value_end),
            is_option=self.literals.from_option and known is not UNKNOWN,
        )

    def _offsets(self, node: Any) -> tuple[int, int]:
        return (
            self._offset(node.lineno, node.col_offset),
            self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
        )

    def _offset(self, line: int, byte: int) -> int:
        """Python counts columns in bytes of UTF-8."""
        starts = self.lines.starts
        if self.is_ascii:
            return starts[line - 1] + byte
        start = starts[line - 1]
        end = starts[line] if line < len(starts) else len(self.lines.text)
        if line not in self.wide:
            text = self.lines.text[start:end]
            self.wide[line] = array("L") if text.isascii() else array("L", _characters(text))
        wide = self.wide[line]
        return start + (byte if not wide else wide[min(byte, len(wide) - 1)])


def _characters(text: str) -> Iterator[int]:
    """For each byte of UTF-8 the character it belongs to, and one more for the end."""
    for index, character in enumerate(text):
        code = ord(character)
        for _ in range(1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)):
            yield index
    yield len(text)


def _may_hold_hash(node: ast.expr) -> bool:
    """Whether a `#` in the source may be a character of this text."""
    if not isinstance(node, ast.Constant):
        return True
    return ("#" if isinstance(node.value, str) else b"#") in node.value  # type: ignore[operator]


def _method(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""

"""Rows from the options that a program adds to its argument parser, by following its functions."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from key_readers.annotations import Enums, NoLiteralError, literal
from key_readers.tree import Row, Rows

ADDERS = ("add", "add_argument")
SCALARS = {"int": "integer", "float": "number", "str": "text", "bool": "boolean"}


@dataclass
class Program:
    """Functions that add options, and what their names stand for."""

    module: ast.Module
    parts: tuple[ast.Module, ...] = ()
    """Modules whose classes have an `add_options` each; they are meant by `...cls.add_options(parser)`."""
    enums: Enums = field(default_factory=dict)
    choices: dict[str, list[object]] = field(default_factory=dict)
    """What `NAME.keys()` is, where it is computed."""
    settings: dict[str, bool] = field(default_factory=dict)
    """Parameters whose value is known, so that only one branch of `if NAME:` counts."""

    def rows(self, *functions: str, skip: tuple[str, ...] = ()) -> Rows:
        """The options of these functions and of all that they call, without the functions of `skip`."""
        rows: Rows = {}
        for function in functions:
            for call in self._calls(function, set(skip)):
                rows |= dict(self._options(call))
        return rows

    def _calls(self, function: str, seen: set[str]) -> Iterator[ast.Call]:
        if function in seen:
            return
        seen.add(function)
        for node in self.module.body:
            if isinstance(node, ast.FunctionDef) and node.name == function:
                yield from self._inside(node, seen)

    def _inside(self, node: ast.FunctionDef, seen: set[str]) -> Iterator[ast.Call]:
        for call in self._reached(node):
            match call.func:
                case ast.Attribute(attr=name) if name in ADDERS:
                    yield call
                case ast.Attribute(attr="add_options"):
                    yield from self._parts()
                case ast.Name(id=name):
                    yield from self._calls(name, seen)
                case _:
                    pass

    def _reached(self, node: ast.AST) -> Iterator[ast.Call]:
        if isinstance(node, ast.Call):
            yield node
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id in self.settings:
            branch: list[ast.stmt] = node.body if self.settings[node.test.id] else node.orelse
            parts: list[ast.AST] = [*branch]
        else:
            parts = list(ast.iter_child_nodes(node))
        for part in parts:
            yield from self._reached(part)

    def _parts(self) -> Iterator[ast.Call]:
        for module in self.parts:
            for call in (part for part in ast.walk(module) if isinstance(part, ast.Call)):
                if isinstance(call.func, ast.Attribute) and call.func.attr in ADDERS:
                    yield call

    def _options(self, call: ast.Call) -> Iterator[tuple[str, Row]]:
        names = [
            arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
        ]
        words = {word.arg: word.value for word in call.keywords if word.arg}
        if "is_config_file_arg" in words or "is_write_out_config_file_arg" in words:
            return
        # A configuration file may only use the spellings with two dashes.
        for name in names:
            if name.startswith("--"):
                yield name[2:], self._row(words)

    def _row(self, words: dict[str, ast.expr]) -> Row:
        action = ast.literal_eval(words["action"]) if isinstance(words.get("action"), ast.Constant) else ""
        if action == "store_true":
            return {"types": ["boolean"], "default": False}
        scalar = SCALARS.get(ast.unparse(words["type"]), "any") if "type" in words else "any"
        row: Row = {"types": ["list", scalar] if "nargs" in words and scalar != "any" else [scalar]}
        if "choices" in words and (choices := self._choices(words["choices"])):
            kinds = ["text"] if scalar == "any" else [scalar]
            row |= {"choices": choices, "types": ["list", *kinds] if "nargs" in words else kinds}
        if "default" in words:
            with suppress(NoLiteralError):
                row["default"] = literal(words["default"], self.enums)
        return row

    def _choices(self, node: ast.expr) -> list[object]:
        name = ast.unparse(node).removesuffix(".keys()")
        if name in self.choices:
            return list(self.choices[name])
        if isinstance(node, ast.List):
            try:
                return [literal(part, self.enums) for part in node.elts]
            except NoLiteralError:
                return []
        return []


def constants_of(module: ast.Module) -> dict[str, dict[str, object]]:
    """Classes of plain constants: `class DefaultTokens: PAD = "<blank>"`."""
    return {
        node.name: {
            target.id: line.value.value
            for line in node.body
            if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)
            for target in line.targets
            if isinstance(target, ast.Name)
        }
        for node in module.body
        if isinstance(node, ast.ClassDef)
    }


def registered_in(modules: tuple[ast.Module, ...], decorator: str) -> list[object]:
    """Names given to `@decorator(name="...")` over classes."""
    return [
        word.value.value
        for module in modules
        for node in module.body
        if isinstance(node, ast.ClassDef)
        for mark in node.decorator_list
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == decorator
        for word in mark.keywords
        if word.arg == "name" and isinstance(word.value, ast.Constant)
    ]

"""Parses YAML 1.2 to plain values, with the line and column of every key; strict, bounded, with clear errors."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (nodes and errors of ruamel.yaml have no types)

import re
import warnings
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from trimtab.config.yaml_bounds import (
    LONGEST_PATHS,
    MAX_DEPTH,
    MAX_VALUES,
    paths_too_long,
    too_deep,
    too_many,
)
from trimtab.config.yaml_faults import yaml_fault
from trimtab.errors import InputError, Problem, input_error

_TAG = "tag:yaml.org,2002:"
_OTHER_VERSION = re.compile(r"^%YAML\s+(?!1\.2\b)(\S*)", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class YamlTree:
    """Plain values (dict, list, str, int, float, bool, None) and where each stands."""

    value: Any
    positions: dict[str, Position] = field(default_factory=dict[str, Position])
    """Dotted path, such as `data.train.0.source`, to where its key (or its item) begins; the root is ``""``."""


def read_yaml(text: str, *, name: str) -> YamlTree:
    """Reads one document; raises InputError with `name:line:column` for what is not YAML or not wanted here."""
    if other := _OTHER_VERSION.search(text):
        raise input_error(
            "not YAML 1.2",
            got=other.group(),
            allowed="%YAML 1.2, or no such line",
            fix="remove the line",
            where=f"{name}:{text.count(chr(10), 0, other.start()) + 1}:1",
        )
    node = _compose(text, name)
    if node is None:
        return YamlTree(None)
    reader = _Reader(name)
    value = reader.read(node, ())
    if reader.problems:
        raise InputError(*reader.problems)
    return YamlTree(value, reader.positions)


def _compose(text: str, name: str) -> Node | None:
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = MAX_DEPTH + 1  # it counts words too
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an anchor defined twice is allowed by YAML
            return yaml.compose(text)  # type: ignore[no-any-return]
    except ReaderError as error:
        before = text[: int(error.position)]
        where = f"{name}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        raise input_error(
            "a character that YAML does not allow",
            got=f"U+{_code(error.character):04X}",
            allowed="text, tabs and line ends",
            fix="remove it, or escape it in double quotes",
            where=where,
        ) from None
    except MarkedYAMLError as error:
        _raise_syntax(error, text, name)
    except RecursionError:
        raise too_deep(name) from None
    except YAMLError as error:
        raise yaml_fault(str(error).splitlines()[0], text=text, at=None, where=name) from None


def _code(character: Any) -> int:
    return character if isinstance(character, int) else ord(str(character)[0])


def _raise_syntax(error: MarkedYAMLError, text: str, name: str) -> NoReturn:
    mark = error.problem_mark or error.context_mark
    where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
    problem, context = str(error.problem or ""), str(error.context or "")
    if "maximum depth" in problem or "maximum depth" in context:
        raise too_deep(where) from None
    at = mark.index if mark else None
    raise yaml_fault(problem, context=context, text=text, at=at, where=where) from None


class _Reader:
    """Turns nodes into plain values; gathers positions and problems on the way."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.positions: dict[str, Position] = {}
        self.problems: list[Problem] = []
        self.num_nodes = 0
        self.num_characters = 0
        """Of all dotted paths."""
        self.open: list[Node] = []
        """The groups and lists around what is read."""

    def read(self, node: Node, path: tuple[str, ...]) -> Any:
        """The plain value of a node at a path of keys. Raises InputError if there are too many values or they are
        nested too deeply; other problems are gathered."""
        self.num_nodes += 1
        if self.num_nodes > MAX_VALUES:
            raise too_many(self.where(node))
        if any(node is each for each in self.open):
            raise input_error(
                "an alias inside its own anchor",
                got="a value that contains itself",
                allowed="aliases of anchors that come before them",
                fix="write the value out instead of the alias",
                where=self.where(node),
            )
        if len(path) >= MAX_DEPTH and not isinstance(node, ScalarNode):
            raise too_deep(self.where(node))
        dotted = ".".join(path)
        self.num_characters += len(dotted)
        if self.num_characters > LONGEST_PATHS:
            raise paths_too_long(self.where(node))
        self.positions.setdefault(dotted, _position(node))
        if isinstance(node, ScalarNode):
            return self.scalar(node)
        self.open.append(node)
        try:
            if isinstance(node, MappingNode):
                return self.mapping(node, path)
            assert isinstance(node, SequenceNode)
            return [self.read(item, (*path, str(index))) for index, item in enumerate(node.value)]
        finally:
            self.open.pop()

    def mapping(self, node: MappingNode, path: tuple[str, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        first: dict[str, Node] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                group = isinstance(key_node, MappingNode)
                self.problems.append(
                    Problem(
                        what="a key that is not a string",
                        got="a group of keys" if group else "a list",
                        allowed="a word, such as `length`",
                        fix="write `key: value`; quote text that begins with { or [",
                        where=self.where(key_node),
                    )
                )
                continue
            key = str(key_node.value)
            if key in first:
                self.problems.append(
                    Problem(
                        what=f"{'.'.join((*path, key))}: written twice",
                        got=f"first in line {_position(first[key]).line}, again in line {_position(key_node).line}",
                        allowed="each key once in its group",
                        fix="keep one of them",
                        where=self.where(key_node),
                    )
                )
                continue
            first[key] = key_node
            self.positions[".".join((*path, key))] = _position(key_node)
            result[key] = self.read(value_node, (*path, key))
        return result

    def scalar(self, node: ScalarNode) -> Any:
        text, tag = str(node.value), str(node.tag)
        try:
            match tag.removeprefix(_TAG):
                case "null":
                    return None
                case "bool":
                    return text.lower() == "true"
                case "int":
                    return _whole(text)
                case "float":
                    return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
                case "str" | "timestamp" | "merge" | "value":
                    return text
                case _:
                    self.problems.append(
                        Problem(
                            what="a value with a YAML tag",
                            got=tag.replace(_TAG, "!!"),
                            allowed="plain values",
                            fix="remove the tag",
                            where=self.where(node),
                        )
                    )
        except ValueError:
            return text
        return None

    def where(self, node: Node) -> str:
        position = _position(node)
        return f"{self.name}:{position.line}:{position.column}"


def _position(node: Node) -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)


def _whole(text: str) -> int:
    digits = text.replace("_", "")
    sign, digits = (-1, digits[1:]) if digits.startswith("-") else (1, digits.removeprefix("+"))
    base = {"0x": 16, "0o": 8, "0b": 2}.get(digits[:2].lower(), 10)
    return sign * int(digits, base)

"""YAML 1.2 text to plain values, with the line and column of every key; strict, bounded, and clear when it fails."""

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

from trimtab.errors import InputError, Problem, input_error

MAX_DEPTH = 50
MAX_NODES = 10_000
"""Values after aliases are written out; far more than a recipe has, far less than fills a memory."""

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
    yaml.max_depth = MAX_DEPTH
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
            fix="remove it, or write it as an escape between double quotes",
            where=where,
        ) from None
    except MarkedYAMLError as error:
        _raise_syntax(error, name)
    except RecursionError:
        _raise_depth(name)
    except YAMLError as error:
        raise input_error("not YAML", got=str(error).splitlines()[0], where=name) from None


def _code(character: Any) -> int:
    return character if isinstance(character, int) else ord(str(character)[0])


def _raise_depth(where: str) -> NoReturn:
    raise input_error(
        "nested too deeply",
        got=f"more than {MAX_DEPTH} levels",
        allowed=f"at most {MAX_DEPTH} levels in a recipe",
        fix="look for brackets that are opened again and again, and take levels out",
        where=where,
    ) from None


def _raise_syntax(error: MarkedYAMLError, name: str) -> NoReturn:
    mark = error.problem_mark or error.context_mark
    where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
    problem = str(error.problem or error.context)
    if "maximum depth" in problem:
        _raise_depth(where)
    for pattern, what, fix in _SYNTAX:
        if re.search(pattern, problem):
            raise input_error(what, fix=fix, where=where) from None
    context = f" {error.context}" if error.context else ""
    raise input_error(f"not YAML:{context} {problem}".replace("  ", " "), where=where) from None


_SYNTAX = (
    (r"character '\\t'", "a tab where YAML needs spaces", "indent with spaces"),
    (
        r"mapping values are not allowed",
        "a colon or a key in a place where none can be",
        "check the indentation; put text with `: ` in it between quotes",
    ),
    (r"another document", "a second document begins", "a recipe is one document: remove the line `---`"),
    (
        r"undefined alias",
        "an alias of something not defined before",
        "define `&name` first, or put text that begins with * between quotes",
    ),
    (r"unexpected end of stream", "a quote is opened and not closed", "close the quote"),
    (r"'<stream end>'", "a bracket is opened and not closed", "close the bracket"),
    (r"character '[@`%]'", "a character that cannot begin a value", "put the text between quotes"),
    (
        r"expected <block end>",
        "a line that fits no level of indentation",
        "indent the keys of one group by the same number of spaces",
    ),
    (r"could not find expected ':'", "a key without a colon", "write `key: value`"),
)


class _Reader:
    """Turns nodes into plain values; gathers positions and problems on the way."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.positions: dict[str, Position] = {}
        self.problems: list[Problem] = []
        self.num_nodes = 0
        self.open: list[Node] = []
        """The groups and lists around what is read."""

    def read(self, node: Node, path: tuple[str, ...]) -> Any:
        """The plain value of a node at a path of keys. Raises InputError where there are too many values or they are
        nested too deeply; other problems are gathered."""
        self.num_nodes += 1
        if self.num_nodes > MAX_NODES:
            raise input_error(
                "too many values",
                got=f"more than {MAX_NODES:,}",
                allowed=f"at most {MAX_NODES:,} in a recipe, aliases written out",
                fix="look for aliases of groups that hold aliases, or whether this is another kind of file",
                where=self.where(node),
            )
        if any(node is each for each in self.open):
            raise input_error(
                "an alias inside what it names",
                got="a value that holds itself",
                allowed="aliases of what stands before them",
                fix="write the value out instead of the alias",
                where=self.where(node),
            )
        if len(path) > MAX_DEPTH:
            _raise_depth(self.where(node))
        self.positions.setdefault(".".join(path), _position(node))
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
                        what="a key that is not a word",
                        got="a group of keys" if group else "a list",
                        allowed="a word, such as `length`",
                        fix="write `key: value`; put text that begins with { or [ between quotes",
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
                            what="a value with a tag of its own",
                            got=tag.replace(_TAG, "!!"),
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

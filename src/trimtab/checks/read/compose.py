"""YAML text to nodes, by the events of ruamel.yaml; strict, bounded, and clear when it fails."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (events and errors of ruamel.yaml have no types)

import re
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from trimtab.checks.read.decode import printable
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.nodes import AliasNode, MappingNode, Node, ScalarNode, SequenceNode
from trimtab.config.yaml_bounds import MAX_DEPTH, MAX_VALUES, too_deep, too_many
from trimtab.config.yaml_faults import excerpt, yaml_fault
from trimtab.errors import InputError, input_error

_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = frozenset(("str", "int", "float", "bool", "null", "seq", "map"))
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+(?:#.*\s+)*|$))+")
"""An anchor or a tag before a value."""
_LONG_TAG = re.compile(r"(?:^|[\s,\[{])(!\S{1000})")
"""ruamel.yaml takes a time that grows with the square of a tag's length."""


def compose(lines: Lines) -> Node | None:
    """The nodes of one document, None of an empty one; raises InputError with `path:line:column`."""
    if found := _LONG_TAG.search(lines.text):
        raise input_error(
            "a tag of more than 1,000 characters",
            got=excerpt(lines.text, found.start(1)),
            allowed="plain values",
            fix="remove the tag, or quote text that begins with !",
            where=lines.where(found.start(1)),
        )
    composer = _Composer(lines)
    for event in _events(lines):
        composer.take(event)
    return composer.root


def _events(lines: Lines) -> Iterator[Any]:
    yaml = YAML(typ="safe", pure=True)
    yaml.version = (1, 1)  # as PyYAML takes lines and brackets apart; values are resolved elsewhere
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from yaml.parse(lines.text)
    except ReaderError as error:
        code = error.character if isinstance(error.character, int) else ord(str(error.character)[0])
        raise input_error(
            "a character that YAML does not allow",
            got=f"U+{code:04X}",
            allowed="text, tabs and line ends",
            fix="remove it, or escape it in double quotes",
            where=lines.where(int(error.position)),
        ) from None
    except MarkedYAMLError as error:
        _raise_syntax(error, lines)
    except (YAMLError, ValueError, RecursionError, OverflowError, AssertionError) as error:
        # ValueError: an escape such as "\UFFFFFFFF" or a %YAML line with strange numbers; AssertionError: such a line
        # with a version that there is not.
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise yaml_fault(what[:200], text=lines.text, at=None, where=lines.path) from None


class _Composer:
    """Events in, nodes out, without recursion."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.root: Node | None = None
        self.anchors: dict[str, Node] = {}
        self.open: list[MappingNode | SequenceNode] = []
        self.keys: list[ScalarNode | None] = []
        """For each open mapping the key that waits for its value."""
        self.num_values = 0
        self.num_documents = 0

    def take(self, event: Any) -> None:
        if isinstance(event, DocumentStartEvent):
            self.num_documents += 1
            if self.num_documents > 1:
                raise self.fault("another document", event)
        elif isinstance(event, ScalarEvent):
            self.place(self.scalar(event), event)
        elif isinstance(event, AliasEvent):
            self.place(self.alias(event), event)
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self.begin(event)
        elif isinstance(event, CollectionEndEvent):
            self.end(event)

    def scalar(self, event: Any) -> ScalarNode:
        start = self.start(event)
        text = str(event.value)
        tag = self.tag(event)
        is_plain = not event.style and not tag
        return ScalarNode(
            start=start,
            end=max(start, event.end_mark.index),
            text=text,
            value=printable(text),
            is_plain=is_plain,
            tag=tag,
        )

    def alias(self, event: Any) -> AliasNode:
        target = self.anchors.get(event.anchor)
        if target is None:
            raise self.fault("undefined alias", event)
        if any(target is node for node in self.open):
            raise input_error(
                "an alias inside its own anchor",
                got=f"*{event.anchor}",
                allowed="an alias of a value that ends before it",
                fix="write the value itself; one that holds itself has no end",
                where=self.where(event),
            )
        return AliasNode(start=event.start_mark.index, end=event.end_mark.index, target=target)

    def begin(self, event: Any) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise too_deep(self.where(event))
        start, kind = self.start(event), MappingNode if isinstance(event, MappingStartEvent) else SequenceNode
        self.tag(event)
        node = kind(start=start, end=start)
        self.place(node, event)
        self.open.append(node)
        self.keys.append(None)

    def end(self, event: Any) -> None:
        node = self.open.pop()
        self.keys.pop()
        closing = event.end_mark.index
        if self.lines.text[node.start : node.start + 1] in ("{", "[") and event.start_mark.index < closing:
            node.end = closing
        else:  # ruamel ends a block where the next token begins, far below
            last = node.items[-1:] if isinstance(node, SequenceNode) else [v for _, v in node.pairs[-1:]]
            node.end = max(node.start, *(child.end for child in last)) if last else node.start

    def place(self, node: Node, event: Any) -> None:
        if event.anchor is not None and not isinstance(node, AliasNode):
            self.anchors[event.anchor] = node
        if not self.open:
            self.root = node
        elif isinstance(parent := self.open[-1], SequenceNode):
            parent.items.append(node)
        elif (key := self.keys[-1]) is not None:
            self.settle(node, key)
            parent.pairs.append((key, node))
            self.keys[-1] = None
        else:
            self.keys[-1] = self.key(node, event)
            return
        self.num_values += 1  # keys do not count, as in recipes
        if self.num_values > MAX_VALUES:
            raise too_many(self.where(event))

    def settle(self, node: Node, key: ScalarNode) -> None:
        """Puts a value that is not written just behind the colon; ruamel puts it where the next token begins."""
        if node.start == node.end and isinstance(node, ScalarNode):
            colon = self.lines.text.find(":", key.end, node.start)
            if colon >= 0 and not self.lines.text[key.end : colon].strip():
                node.start = node.end = colon + 1

    def key(self, node: Node, event: Any) -> ScalarNode:
        word = node.target if isinstance(node, AliasNode) else node
        if isinstance(word, ScalarNode):
            return word
        is_asked = self.lines.text[: node.start].rstrip().endswith("?")
        raise input_error(
            "a key that is not a string",
            got="a list" if isinstance(word, SequenceNode) else "a group of keys",
            allowed="a word before the colon",
            fix="write `word: value`; no configuration has lists or groups as keys"
            if is_asked
            else "put text that begins with { or [, such as a template, between quotes",
            where=self.where(event),
        )

    def tag(self, event: Any) -> str:
        tag = str(event.tag) if event.tag else ""
        name = tag.removeprefix(_TAG)
        if tag in ("", "!"):
            return "str" if tag else ""
        if name not in _KNOWN_TAGS or not tag.startswith(_TAG):
            raise input_error(
                "a value with a YAML tag",
                got=tag.replace(_TAG, "!!")[:100],
                allowed="plain values",
                fix="write the value itself; nothing is built from tags here",
                where=self.where(event),
            )
        return name

    def start(self, event: Any) -> int:
        """Where the value itself begins, behind its anchor and tag."""
        start = event.start_mark.index
        if event.anchor is not None or event.tag:
            end = max(start, event.end_mark.index)
            found = _PROPERTIES.match(self.lines.text, start, end)
            start = found.end() if found else start
        return start

    def fault(self, problem: str, event: Any) -> InputError:
        """The problem at the position of an event."""
        at = event.start_mark.index
        return yaml_fault(problem, text=self.lines.text, at=at, where=self.lines.where(at))

    def where(self, event: Any) -> str:
        return self.lines.where(event.start_mark.index)


def _raise_syntax(error: MarkedYAMLError, lines: Lines) -> NoReturn:
    mark = error.problem_mark or error.context_mark
    where = lines.where(mark.index) if mark else lines.path
    raise yaml_fault(
        str(error.problem or ""),
        context=str(error.context or ""),
        text=lines.text,
        at=mark.index if mark else None,
        where=where,
    ) from None

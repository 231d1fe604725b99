"""JSON to a document, as Python's `json` reads it: NaN and Infinity are numbers; comments are an error."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from trimtab.checks.document import Document
from trimtab.checks.read.decode import printable
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.nodes import MappingNode, Node, ScalarNode, SequenceNode
from trimtab.checks.read.plant import Plant
from trimtab.config.yaml_bounds import MAX_DEPTH, MAX_VALUES, too_deep, too_many
from trimtab.errors import InputError, input_error

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"true|false|null|NaN|-?Infinity")
_WORDS = {"true": True, "false": False, "null": None, "NaN": float("nan")}
_LONGEST_NUMBER = 200
"""Characters; no float holds much more."""


def read_json(path: str, text: str) -> Document:
    """Reads one JSON value; raises InputError with `path:line:column`."""
    lines = Lines(path, text)
    root = scan(lines)
    plant = Plant(lines, lambda node: node.value, merges=False)
    tree = plant.grow(root)
    return Document(
        path=path,
        syntax="json",
        text=text,
        tree=tree,
        entries=plant.entries,
        repeated=tuple(plant.repeated.values()),
        nodes=root,
    )


def scan(lines: Lines) -> Node:
    """The nodes of one JSON value."""
    return _Scanner(lines).whole()


def scan_parts(lines: Lines, wanted: Mapping[int, tuple[str, ...]]) -> Node:
    """The nodes of one JSON value, at some depths only those of the keys that are `wanted` there. All else is passed
    over by Python's own reader, which is far faster, and is an empty text here."""
    try:
        return _PartScanner(lines, wanted).whole()
    except (ValueError, RecursionError, InputError):
        return scan(lines)  # says what is wrong, and where


class _Scanner:
    """Reads from left to right; `at` is the next character."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.text = lines.text
        self.at = 0
        self.num_values = 0

    def whole(self) -> Node:
        root = self.value(0)
        self.skip()
        if self.at < len(self.text):
            self.fail("expected nothing more after the end of the value")
        return root

    def value(self, depth: int) -> Node:
        self.skip()
        self.num_values += 1
        if depth > MAX_DEPTH - (self.text[self.at : self.at + 1] in ("{", "[")):
            raise too_deep(self.lines.where(self.at))
        if self.num_values > MAX_VALUES:
            raise too_many(self.lines.where(self.at))
        match self.text[self.at : self.at + 1]:
            case "{":
                return self.mapping(depth)
            case "[":
                return self.sequence(depth)
            case '"':
                return self.string()
            case _:
                return self.word()

    def mapping(self, depth: int) -> MappingNode:
        node = MappingNode(start=self.at, end=self.at)
        self.at += 1
        if not self.takes("}"):
            while True:
                self.skip()
                if self.text[self.at : self.at + 1] != '"':
                    self.fail("expected a key between double quotes")
                key = self.string()
                if not self.takes(":"):
                    self.fail("expected a colon after the key")
                node.pairs.append((key, self.member(key.text, depth)))
                if self.takes("}"):
                    break
                self.comma("}")
        node.end = self.at
        return node

    def member(self, key: str, depth: int) -> Node:
        return self.value(depth + 1)

    def sequence(self, depth: int) -> SequenceNode:
        node = SequenceNode(start=self.at, end=self.at)
        self.at += 1
        if not self.takes("]"):
            while True:
                node.items.append(self.value(depth + 1))
                if self.takes("]"):
                    break
                self.comma("]")
        node.end = self.at
        return node

    def comma(self, closing: str) -> None:
        if not self.takes(","):
            self.fail(f"expected a comma or `{closing}`")
        self.skip()
        if self.text[self.at : self.at + 1] == closing:
            self.stop(f"a comma before `{closing}`, which JSON does not allow", fix="remove the comma")

    def string(self) -> ScalarNode:
        found = _STRING.match(self.text, self.at)
        if found is None:
            self.broken_string()
        start, self.at = self.at, found.end()
        text = found[1]
        if "\\" in text:
            text = printable(json.loads(found[0]))
        return ScalarNode(start=start, end=self.at, text=text, value=text)

    def word(self) -> ScalarNode:
        start = self.at
        value: Any
        if (found := _WORD.match(self.text, start)) is not None:
            word = found[0]
            value = _WORDS[word] if word in _WORDS else float(word)
        elif (found := _NUMBER.match(self.text, start)) is not None:
            if found.end() - start > _LONGEST_NUMBER:
                self.stop("a number of too many digits", allowed=f"at most {_LONGEST_NUMBER} characters")
            value = float(found[0]) if found[1] or found[2] else int(found[0])
        else:
            self.fail("expected a value")
        self.at = found.end()
        if self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "._+-"):
            self.at = start
            self.fail("expected a value")
        return ScalarNode(start=start, end=self.at, text=found[0], value=value)

    def takes(self, character: str) -> bool:
        self.skip()
        if self.text.startswith(character, self.at):
            self.at += 1
            return True
        return False

    def skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def broken_string(self) -> NoReturn:
        end = re.compile(r'"(?:[^"\\\r\n]++|\\[^\r\n])*+').match(self.text, self.at)
        after = end.end() if end else self.at
        if self.text[after : after + 1] == '"':
            self.stop("a backslash or a tab in a text that JSON does not allow", fix="write `\\\\` or `\\t`")
        self.stop(
            "a quote is opened and not closed in its line", fix='close it, and write line ends as "\\n"'
        )

    def fail(self, expected: str) -> NoReturn:
        self.skip()
        rest = self.text[self.at : self.at + 20]
        if not rest:
            what = "nothing is in it" if not self.text.strip() else "it ends in the middle"
            self.stop(f"not JSON: {what}", allowed=expected.removeprefix("expected "))
        if rest.startswith(("//", "/*", "#")):
            self.stop(
                "a comment, which JSON does not have", fix="remove it: tools that read this file refuse it"
            )
        if rest[0] == "'":
            self.stop("single quotes, which JSON does not have", fix="use double quotes")
        if (word := re.match(r"True|False|None", rest)) is not None:
            fix = {"True": "true", "False": "false", "None": "null"}[word[0]]
            self.stop("a word of Python, which JSON does not have", got=word[0], fix=f"write {fix}")
        shown = printable(rest.splitlines()[0]) if rest.splitlines()[0] else repr(rest[0])
        self.stop(f"not JSON: {expected}", got=shown)

    def stop(self, what: str, *, got: str = "", allowed: str = "", fix: str = "") -> NoReturn:
        raise input_error(what, got=got, allowed=allowed, fix=fix, where=self.lines.where(self.at))


class _PartScanner(_Scanner):
    """Passes over what is not wanted."""

    def __init__(self, lines: Lines, wanted: Mapping[int, tuple[str, ...]]) -> None:
        super().__init__(lines)
        self.wanted = wanted
        self.decoder = json.JSONDecoder()

    def member(self, key: str, depth: int) -> Node:
        if depth not in self.wanted or key in self.wanted[depth]:
            return super().member(key, depth)
        self.skip()
        start = self.at
        _, self.at = self.decoder.raw_decode(self.text, start)
        return ScalarNode(start=start, end=self.at, text="")

"""JSON: where its values stand, and how a value is written."""

import json
import re
from collections.abc import Iterator
from typing import Any

from trimtab.checks.fix.node import Member, Node
from trimtab.checks.fix.tree import CannotMend

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def locate(text: str) -> Node:
    """Places of all values of a text that is known to be JSON."""
    tokens = _TOKEN.finditer(text)
    try:
        return _value(next(tokens), tokens)
    except (StopIteration, RecursionError, json.JSONDecodeError):
        raise CannotMend("the JSON is not in the form that is expected here") from None


def write(value: Any) -> str:
    """A value in JSON."""
    return json.dumps(value, ensure_ascii=False)


def write_key(name: str) -> str:
    """A key in JSON."""
    return json.dumps(name, ensure_ascii=False)


def _value(token: re.Match[str], tokens: Iterator[re.Match[str]]) -> Node:
    match token.group():
        case "{":
            return _mapping(token.start(), tokens)
        case "[":
            return _list(token.start(), tokens)
        case _:
            return Node(start=token.start(), end=token.end())


def _mapping(start: int, tokens: Iterator[re.Match[str]]) -> Node:
    members: list[Member] = []
    while True:
        token = next(tokens)
        if token.group() == "}":
            return Node(start=start, end=token.end(), kind="mapping", bracketed=True, members=tuple(members))
        if token.group() == ",":
            continue
        name = json.loads(token.group())
        next(tokens)  # the colon
        value = _value(next(tokens), tokens)
        members.append(Member(name=name, start=token.start(), end=token.end(), value=value))


def _list(start: int, tokens: Iterator[re.Match[str]]) -> Node:
    items: list[Node] = []
    while True:
        token = next(tokens)
        if token.group() == "]":
            return Node(start=start, end=token.end(), kind="list", bracketed=True, items=tuple(items))
        if token.group() != ",":
            items.append(_value(token, tokens))

"""YAML: where its values stand, and how a value is written so that every dialect reads it alike."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (nodes of ruamel.yaml have no types)

import json
import re
import warnings
from typing import Any, cast

from trimtab.checks.fix.node import Member, Node
from trimtab.checks.fix.tree import CannotMend
from trimtab.config.yaml_bounds import MAX_DEPTH

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_NOT_TEXT = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null|none")
"""Words that some dialect takes for something else than text."""
_ALIAS = re.compile(r"[ \t\r\n]*(\*[^\s,\[\]{}]+)")
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)+")


def locate(text: str) -> Node:
    """Places of all values of one document; raises CannotMend for a file with several."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.max_depth = MAX_DEPTH
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            root = reader.compose(text)
    except (YAMLError, RecursionError):
        raise CannotMend("the YAML is not one plain document") from None
    if root is None:
        raise CannotMend("the file is empty")
    return _node(root, text, 0)


def write(value: Any) -> str:
    """A value on one line: plain where every dialect of YAML reads it so, else between double quotes."""
    if isinstance(value, dict):
        pairs = cast(dict[str, Any], value).items()
        return "{" + ", ".join(f"{write_key(key)}: {write(item)}" for key, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(write(item) for item in cast(list[Any], value)) + "]"
    if isinstance(value, str):
        return write_key(value)
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)


def write_key(name: str) -> str:
    """A key or a text."""
    if _BARE.fullmatch(name) and not _NOT_TEXT.fullmatch(name):
        return name
    return json.dumps(name, ensure_ascii=False)


def properties(text: str, node: Node) -> str:
    """The anchor and the tag before a value, with the space behind them."""
    match = _PROPERTIES.match(text, node.start, node.end)
    return match.group() if match else ""


def _number(value: float) -> str:
    words = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}
    shown = repr(value)
    if shown in words:
        return words[shown]
    mantissa, exponent, power = shown.partition("e")
    # YAML 1.1 wants a point and a sign: 1e-05 would be text there.
    return mantissa + ("" if "." in mantissa else ".0") + exponent + power


def _node(node: Any, text: str, after: int) -> Node:
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if start < after and (alias := _ALIAS.match(text, after)):
        return Node(start=alias.start(1), end=alias.end(1))
    is_mapping, is_list = isinstance(node.value, list) and node.id == "mapping", node.id == "sequence"
    if not (is_mapping or is_list):
        return _leaf(start, end, text, after)
    bracketed = bool(node.flow_style)
    members = tuple(_member(key, value, text) for key, value in node.value) if is_mapping else ()
    items: tuple[Node, ...] = ()
    if is_list:
        items = _items(node.value, text, start)
    if not bracketed:  # the mark is at what follows, after comments and empty lines
        end = max((*(each.value.end for each in members), *(each.end for each in items)), default=start)
    kind = "mapping" if is_mapping else "list"
    return Node(start=start, end=end, kind=kind, bracketed=bracketed, members=members, items=items)


def _items(nodes: list[Any], text: str, start: int) -> tuple[Node, ...]:
    items: list[Node] = []
    for node in nodes:
        before = items[-1].end if items else start
        dash_or_comma = re.compile(r"[\s\[,-]*").match(text, before)
        after = dash_or_comma.end() if dash_or_comma else before
        items.append(_node(node, text, after if int(node.start_mark.index) < before else before))
    return tuple(items)


def _leaf(start: int, end: int, text: str, after: int) -> Node:
    if start == end:  # nothing is written; the mark is at what follows
        return Node(start=after, end=after)
    return Node(start=start, end=start + len(text[start:end].rstrip()))


def _member(key: Any, value: Any, text: str) -> Member:
    start, end = int(key.start_mark.index), int(key.end_mark.index)
    colon = re.compile(r"\s*:").match(text, end)
    after = colon.end() if colon else end
    if isinstance(key.value, list):
        raise CannotMend("a key that is not a string")
    return Member(name=str(key.value), start=start, end=end, value=_node(value, text, after))

"""Where the values of a file are in its text, for YAML and JSON."""

from collections.abc import Sequence
from typing import Literal

from trimtab.checks.fix.tree import CannotMend, splits
from trimtab.checks.record import record


@record(kw_only=True)
class Node:
    """A value: its characters are `text[start:end]`."""

    start: int
    end: int
    kind: Literal["mapping", "list", "leaf"] = "leaf"
    bracketed: bool = False
    """Whether a mapping or list is in brackets, so that commas separate its members."""
    members: tuple["Member", ...] = ()
    items: tuple["Node", ...] = ()


@record(kw_only=True)
class Member:
    """A key with its value; the key's characters are `text[start:end]`."""

    name: str
    start: int
    end: int
    value: Node


@record
class Found:
    """A mapping, and which of its members was looked for."""

    mapping: Node
    index: int

    @property
    def member(self) -> Member:
        """The member that was looked for."""
        return self.mapping.members[self.index]


def find(root: Node, dotted: str) -> Found:
    """The member of a dotted path; raises CannotMend where it does not stand there, or more than once."""
    found = _find(root, dotted.split("."))
    if found is None:
        raise CannotMend(f"`{dotted}` does not stand there in these characters; it may come by an anchor")
    if sum(member.name == found.member.name for member in found.mapping.members) > 1:
        raise CannotMend(f"`{dotted}` is written twice")
    return found


def _find(node: Node, parts: Sequence[str]) -> Found | None:
    if node.kind == "list":
        index = int(parts[0]) if parts[0].isdecimal() else len(node.items)
        return _find(node.items[index], parts[1:]) if index < len(node.items) and len(parts) > 1 else None
    for name, rest in splits(parts):
        for index, member in enumerate(node.members):
            if member.name != name:
                continue
            found = _find(member.value, rest) if rest else Found(node, index)
            if found is not None:
                return found
    return None

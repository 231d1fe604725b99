"""What YAML and JSON have in common: a tree of nodes, each with the stretch of text that it was read from."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class ScalarNode:
    """One value or key. Plain text of YAML is resolved later, by a dialect; all others are what `value` says."""

    start: int
    end: int
    text: str
    """Without quotes and escapes."""
    value: Any = None
    is_plain: bool = False
    """YAML without quotes and tag."""
    tag: str = ""
    """YAML's own word after `!!`, where one is written: int, float, bool, null, str."""


@dataclass(slots=True, kw_only=True)
class SequenceNode:
    """A list."""

    start: int
    end: int
    items: list["Node"] = field(default_factory=list["Node"])


@dataclass(slots=True, kw_only=True)
class MappingNode:
    """Keys with values, in the order of the file, repeated ones too."""

    start: int
    end: int
    pairs: list[tuple[ScalarNode, "Node"]] = field(default_factory=list[tuple[ScalarNode, "Node"]])


@dataclass(slots=True, kw_only=True)
class AliasNode:
    """`*name`: what stands elsewhere, told again."""

    start: int
    end: int
    target: "Node"


Node = ScalarNode | SequenceNode | MappingNode | AliasNode

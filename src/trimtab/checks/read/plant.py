"""Nodes to what a `Document` holds: plain values, and an entry for every key by its dotted path."""

from typing import Any

from trimtab.checks.document import Entry, Repeated
from trimtab.checks.place import Place
from trimtab.checks.read.decode import printable
from trimtab.checks.read.limits import MAX_RAW
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.nodes import AliasNode, MappingNode, Node, ScalarNode, SequenceNode
from trimtab.checks.read.scalars import Resolve
from trimtab.config.yaml_bounds import (
    LONGEST_PATHS,
    MAX_DEPTH,
    MAX_VALUES,
    paths_too_long,
    too_deep,
    too_many,
)
from trimtab.config.yaml_faults import excerpt
from trimtab.errors import InputError, Problem

Pair = tuple[ScalarNode, Node]
_RESERVED = Entry(key="", value=None, raw="", place=Place(""), value_place=Place(""))


class Plant:
    """Grows the tree from its root; raises InputError with every problem found."""

    def __init__(self, lines: Lines, resolve: Resolve, *, merges: bool, is_strict: bool = False) -> None:
        self.lines = lines
        self.resolve = resolve
        self.merges = merges
        """Whether `<<` copies another mapping's keys."""
        self.is_strict = is_strict
        """Whether a key that is written twice is a problem; otherwise the last counts."""
        self.repeated: dict[Place, Repeated] = {}
        self.entries: dict[str, Entry] = {}
        self.problems: list[tuple[int, Problem]] = []
        self.num_values = 0
        self.num_characters = 0

    def grow(self, root: Node | None) -> Any:
        """The plain value of the whole; `entries` are filled on the way."""
        if root is None:
            return None
        tree = self._value(root, (), 0)
        if self.problems:
            in_order = sorted(self.problems, key=lambda each: each[0])
            raise InputError(*(problem for _, problem in in_order))
        return tree

    def _value(self, node: Node, path: tuple[str, ...], depth: int) -> Any:
        if isinstance(node, AliasNode):
            return self._value(node.target, path, depth)
        self._count(node, depth, path)
        if isinstance(node, MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, SequenceNode):
            return [
                self._value(item, (*path, str(index)), depth + 1) for index, item in enumerate(node.items)
            ]
        return self.resolve(node)

    def _mapping(self, node: MappingNode, path: tuple[str, ...], depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in self._pairs(node, path, depth):
            key = printable(key_node.text)
            dotted = ".".join((*path, key))
            is_new = dotted not in self.entries  # `a.b` may be one key or two
            if is_new:
                self.entries[dotted] = _RESERVED  # before those of its children, and filled after them
            result[key] = self._value(value_node, (*path, key), depth + 1)
            if is_new:
                self.entries[dotted] = self._entry(dotted, result[key], key_node, value_node)
        return result

    def _entry(self, dotted: str, value: Any, key: ScalarNode, node: Node) -> Entry:
        is_scalar = isinstance(node, ScalarNode | AliasNode)
        return Entry(
            key=dotted,
            value=value,
            raw=self.lines.text[node.start : node.end]
            if is_scalar or node.end - node.start <= MAX_RAW
            else "",
            place=self.lines.place(key.start, key.end),
            value_place=self.lines.place(node.start, node.end),
        )

    def _pairs(self, node: MappingNode, path: tuple[str, ...], depth: int) -> list[Pair]:
        """The mapping's own pairs, behind those that it merges in; of a repeated key the last."""
        merged: dict[str, Pair] = {}
        own: dict[str, Pair] = {}
        for key, value in node.pairs:
            if self.merges and key.is_plain and key.text == "<<":
                merged |= {pair[0].text: pair for pair in self._merged(value, path, depth)}
            else:
                if key.text in own:
                    self._repeat(".".join((*path, key.text)), own[key.text], (key, value))
                own[key.text] = (key, value)
        return [*(pair for text, pair in merged.items() if text not in own), *own.values()]

    def _merged(self, node: Node, path: tuple[str, ...], depth: int) -> list[Pair]:
        """The pairs that `<<: node` brings; of several mappings the first that has a key wins."""
        target = node.target if isinstance(node, AliasNode) else node
        self._count(target, depth)
        if isinstance(target, MappingNode):
            pairs = self._pairs(target, path, depth + 1)
            self.num_values += len(pairs)
            return pairs
        if isinstance(target, SequenceNode):
            return [pair for item in reversed(target.items) for pair in self._merged(item, path, depth + 1)]
        problem = Problem(
            what="`<<` merges what is no mapping",
            got=excerpt(self.lines.text, node.start),
            allowed="a mapping such as `<<: *name`, or a list of them",
            fix="name a mapping that stands above as `&name`, or put the key << between quotes",
            where=self.lines.where(node.start),
        )
        self.problems.append((node.start, problem))
        return []

    def _repeat(self, dotted: str, first: Pair, again: Pair) -> None:
        places = [self.lines.place(key.start, key.end) for key, _ in (first, again)]
        if not self.is_strict:
            one, other = (self.lines.text[value.start : value.end] for _, value in (first, again))
            told = Repeated(printable(dotted), places[0], places[1], one == other)
            self.repeated.setdefault(places[1], told)  # an alias tells it once more
            return
        problem = Problem(
            what=f"{printable(dotted)}: written twice",
            got=f"first in line {places[0].line}, again in line {places[1].line}",
            allowed="each key once in its group",
            fix="keep one of them; most readers silently take the last",
            where=self.lines.where(again[0].start),
        )
        self.problems.append((again[0].start, problem))

    def _count(self, node: Node, depth: int, path: tuple[str, ...] = ()) -> None:
        """As `config.read_yaml` counts, so that a recipe is too large for both or for none."""
        self.num_values += 1
        self.num_characters += len(".".join(path))
        if self.num_values > MAX_VALUES:
            raise too_many(self.lines.where(node.start))
        if self.num_characters > LONGEST_PATHS:
            raise paths_too_long(self.lines.where(node.start))
        if depth > MAX_DEPTH - isinstance(node, MappingNode | SequenceNode):
            raise too_deep(self.lines.where(node.start))

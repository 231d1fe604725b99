"""YAML to a document, with the line and column of every key."""

from collections.abc import Iterator

from trimtab.checks.document import Dialect, Document
from trimtab.checks.read.comments import comments_outside
from trimtab.checks.read.compose import compose
from trimtab.checks.read.lines import Lines
from trimtab.checks.read.nodes import MappingNode, Node, ScalarNode, SequenceNode
from trimtab.checks.read.plant import Plant
from trimtab.checks.read.scalars import resolver


def read_yaml(path: str, text: str, *, dialect: Dialect = "pyyaml") -> Document:
    """Reads one document of YAML; keys are text, whatever the dialect would make of them."""
    lines = Lines(path, text)
    root = compose(lines)
    spans = () if root is None else _scalars(root, text)
    comments = comments_outside(spans, lines)
    return plant(root, lines=lines, comments=comments, dialect=dialect)


def plant(
    root: Node | None, *, lines: Lines, comments: tuple[tuple[int, str], ...], dialect: Dialect
) -> Document:
    """The document of nodes that are already there."""
    is_own = dialect == "yaml12"
    plant = Plant(lines, resolver(dialect), merges=not is_own, is_strict=is_own)
    tree = plant.grow(root)
    return Document(
        path=lines.path,
        syntax="yaml",
        text=lines.text,
        tree=tree,
        entries=plant.entries,
        comments=comments,
        repeated=tuple(plant.repeated.values()),
        nodes=root,
    )


def _scalars(root: Node, text: str) -> Iterator[tuple[int, int]]:
    """Where values stand; of a block of text not its first line, which may end in a comment."""
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, MappingNode):
            waiting.extend(part for pair in node.pairs for part in pair)
        elif isinstance(node, SequenceNode):
            waiting.extend(node.items)
        elif isinstance(node, ScalarNode) and node.end > node.start:
            is_block = not node.is_plain and text[node.start] in "|>"
            yield (text.find("\n", node.start, node.end) if is_block else node.start), node.end

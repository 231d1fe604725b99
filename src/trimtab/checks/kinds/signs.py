"""Signs by which the file of a tool is known: names at its root and in the mappings below it."""

from collections.abc import Iterator
from typing import Any, cast

from trimtab.checks.document import Document


def names_of(document: Document) -> frozenset[str]:
    """The keys at the root; none where it is no mapping."""
    return frozenset(mapping(document.tree))


def mapping(value: Any) -> dict[str, Any]:
    """The value where it is a mapping, else an empty one."""
    if not isinstance(value, dict):
        return {}
    return {str(key): inner for key, inner in cast("dict[object, Any]", value).items()}


def mappings_in(document: Document, key: str) -> Iterator[dict[str, Any]]:
    """The mappings that stand under a key of the root, by name or in a list."""
    value: Any = mapping(document.tree).get(key)
    items: list[Any] = (
        list(cast("list[Any]", value)) if isinstance(value, list) else [*mapping(value).values()]
    )
    yield from (mapping(item) for item in items if isinstance(item, dict))

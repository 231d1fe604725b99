"""What is meant where nothing is written and the task decides it: filled in before a recipe is looked at."""

from collections.abc import Mapping
from typing import Any, Literal, cast

Task = Literal["translation", "language_model"]
LANGUAGE_MODEL: Task = "language_model"

DEFAULTS: tuple[tuple[str, Any], ...] = (
    ("loss.label_smoothing", 0.0),
    ("evaluate.metrics", ["perplexity", "byte_perplexity", "bits_per_byte"]),
    ("evaluate.best.metric", "loss"),
)
"""Of language models, by dotted path."""
IDENTITY = "identity"
"""How sentencepiece normalises for language models: not at all, so that a text comes back as it was."""


def with_task_defaults(tree: Any) -> Any:
    """The plain values of a recipe with the defaults of its task, where it is a language model; nothing that is written
    is changed, and what is no group of keys is left for others to complain of."""
    if not isinstance(tree, Mapping):
        return tree
    given = dict(cast("Mapping[str, Any]", tree))
    if given.get("task") != LANGUAGE_MODEL:
        return given
    for path, value in DEFAULTS:
        given = _filled(given, path.split("."), value)
    data = given.get("data")
    tokenizer = cast("Mapping[str, Any]", data).get("tokenizer", {}) if isinstance(data, Mapping) else None
    if isinstance(tokenizer, Mapping) and _kind(cast("Mapping[str, Any]", tokenizer)) == "sentencepiece":
        given = _filled(given, ["data", "tokenizer", "normalization"], IDENTITY)
    return given


def _kind(tokenizer: Mapping[str, Any]) -> Any:
    return tokenizer.get("kind", "sentencepiece")


def _filled(group: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """The group with a value at a path, unless one stands there or something on the way is no group of keys."""
    name, *rest = path
    if not rest:
        return {name: value, **group}
    below = group.get(name, {})
    if not isinstance(below, Mapping):
        return dict(group)
    return {**group, name: _filled(cast("Mapping[str, Any]", below), rest, value)}

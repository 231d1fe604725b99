"""Recipes side by side: the keys in which runs differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.report.run_data import RunData

MOST_KEYS = 2000
ABSENT = "–"


@dataclass(frozen=True, slots=True)
class Difference:
    """One key of the recipe in which runs differ."""

    key: str
    values: tuple[str, ...]
    """One for each run."""


def differences(runs: Sequence[RunData]) -> list[Difference]:
    """What differs, in the order of the recipes."""
    flat = [dict(flattened(run.recipe)) for run in runs]
    keys = dict.fromkeys(key for each in flat for key in each)
    found = [Difference(key, tuple(each.get(key, ABSENT) for each in flat)) for key in keys]
    return [each for each in found if len({*each.values}) > 1][:MOST_KEYS]


def flattened(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """`step.optimizer.learning_rate`, `0.002` and so on; lists of plain values stay together."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from flattened(value, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, list) and any(isinstance(each, dict | list) for each in tree):
        for number, value in enumerate(tree):
            yield from flattened(value, f"{path}.{number}")
    else:
        yield path, _plain(tree)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)[:300]

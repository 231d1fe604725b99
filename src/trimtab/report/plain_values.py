"""Values of JSON files that anybody may have written, as the numbers and texts that a page can show."""

import math
from collections.abc import Iterator, Mapping
from typing import Any


def mapping(value: Any) -> Mapping[str, Any]:
    """The mapping; empty for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: Any, most: int) -> list[Any]:
    """At most so many of a list; none of anything else."""
    return value[:most] if isinstance(value, list) else []


def numbers(value: Any, most: int) -> list[float]:
    """At most so many finite numbers of a list, 0 for what is none."""
    return [float(each) if is_number(each) else 0.0 for each in items(value, most)]


def is_number(value: Any) -> bool:
    """Whether it is a finite number, and no word and no flag."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e300
        and math.isfinite(value)
    )


def count(value: Any) -> int:
    """A whole number of 0 or more; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else 0


def text(value: Any, most: int = 600) -> str:
    """The text, cut; empty for anything else."""
    return value[:most] if isinstance(value, str) else ""


def named_numbers(value: Any, most: int) -> Iterator[tuple[str, float]]:
    """At most so many finite numbers of a mapping by name."""
    known = [(str(name)[:200], float(each)) for name, each in mapping(value).items() if is_number(each)]
    yield from known[:most]

"""What every export must pass before its folder appears: on real text it does what the trainer does."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from trimtab.export.text_loss import TextLoss

BOUND = 1e-4
"""Largest difference of a token's log-probability or logit in float32, and of two scores that count as a tie."""
SHOWN = 3
"""Examples of each kind of difference that a report shows."""


@runtime_checkable
class GateReport(Protocol):
    """What a comparison saw."""

    @property
    def loss(self) -> TextLoss | None:
        """Of an export with rounded weights, which need not be exact; None for one in float32."""
        ...

    @property
    def passed(self) -> bool:
        """Whether the export may be used in the trainer's place."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        ...

    def render(self) -> str:
        """Lines for people."""
        ...


def largest(differences: Iterable[float]) -> float:
    """The largest of them, 0 if there are none, and NaN where one is: NaN is within no bound."""
    found = [0.0, *differences]
    return math.nan if any(each != each for each in found) else max(found)


def with_examples(lines: list[str], *differing: Sequence[str]) -> str:
    """The lines of a report, and the first few examples of each kind of difference."""
    return "\n".join([*lines, *(f"  {example}" for few in differing for example in few[:SHOWN])])

"""S904: too many skipped steps in a row for a spike."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.finding import Finding
from trimtab.run_findings.steps import REFUSED_IN_A_ROW

CAP = 8
"""Refused steps in a row after which you must decide: a guard without a cap refuses forever after a shift."""

MOST_IN_A_ROW = 1000
"""A cap may be so many."""


@dataclass(slots=True)
class Streak:
    """Refused steps in a row."""

    cap: int = CAP
    length: int = 0

    def after(self, *, refused: bool) -> int:
        """The length after one more step."""
        self.length = self.length + 1 if refused else 0
        return self.length

    @property
    def unsettled(self) -> bool:
        """Whether the cap is reached."""
        return self.length >= self.cap

    def finding(self) -> Finding:
        """Says that the cap is reached."""
        return REFUSED_IN_A_ROW.found(f"{self.length} steps in a row were skipped")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint."""
        return {"length": self.length}

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint."""
        self.length = int(saved.get("length", 0))

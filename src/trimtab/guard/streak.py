"""S904: so many refused in a row that it is no spike any more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.finding import Finding

CAP = 8
"""Refused steps in a row after which you must decide: a guard without a cap refuses forever after a shift."""


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
        return Finding(
            code="S904",
            name="refused-in-a-row",
            severity="warning",
            message=f"{self.length} steps in a row were refused",
            why="Either the data has changed to another level, which is to be learned, or the weights are spoilt, "
            "which more refused steps do not mend.",
            fix="where a held-out batch still has its old loss the data has changed; where it is worse, go back to an "
            "older checkpoint and leave out what came before the first of them",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint."""
        return {"length": self.length}

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint."""
        self.length = int(saved.get("length", 0))

"""What rules, preflight and guards report: a `Finding` with a code, a reason, the evidence and the fix."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement about a recipe or a run."""

    code: str
    """Letter of the stage (D data, M model, L loss, S step, K checkpoint, E evaluate, X export, P plan) and three
    digits; 9xx are seen while a run runs."""
    name: str
    severity: Severity
    message: str
    """What was seen, with the number and the bound."""
    why: str = ""
    fix: str = ""
    where: str = ""

    def __str__(self) -> str:
        head = f"{self.severity}[{self.code}] {self.name}: {self.message}"
        if self.where:
            head += f"   ({self.where})"
        parts = (("why", self.why), ("fix", self.fix))
        return "\n".join([head, *(f"  {name:<5}{text}" for name, text in parts if text)])

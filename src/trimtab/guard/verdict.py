"""What a guard says of a step."""

from dataclasses import dataclass

from trimtab.finding import Finding


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the step may be applied, and why not."""

    apply: bool
    finding: Finding | None = None
    """What was seen, where the step is refused or the run must be looked at."""
    streak: int = 0
    """Steps refused in a row, this one among them."""
    unsettled: bool = False
    """So many were refused in a row that somebody must decide: the data has changed (`Guard.accept_level`), or the
    weights are spoilt (go back to an older checkpoint)."""
    over_budget: bool = False
    """So many of the last steps were refused that the run should stop."""

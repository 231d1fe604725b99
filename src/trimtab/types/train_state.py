"""Where a run is."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class TrainState:
    """Where a run is, in plain numbers; together with weights and moments it is all that resume needs."""

    step: int = 0
    """Windows consumed, skipped ones too."""
    updates: int = 0
    """Changes of the weights."""
    position: int = 0
    """Where in the endless stream of examples the next window begins."""
    target_tokens: int = 0
    tokens: int = 0
    """Real source and target tokens consumed."""
    seconds: float = 0.0
    """Time spent training, over all parts of an interrupted run."""
    clips: int = 0
    skips: int = 0
    best: dict[str, Any] = field(default_factory=dict)
    """`{set, metric, value, step, since}`: the best evaluation so far, and how many have passed since."""
    evaluated: int = 0
    """The step of the newest evaluation."""
    data: dict[str, Any] = field(default_factory=dict)
    """The data ledger's counts up to `position`."""
    guard: dict[str, Any] = field(default_factory=dict)
    """What the step keeps besides the optimizer's moments, such as a loss scale; and what was refused and left out."""

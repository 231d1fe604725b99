"""How large gradients are bounded: one class for each way."""

from typing import Annotated, Literal

from pydantic import Field

from trimtab.config.settings import Settings


class ClipGlobalNorm(Settings):
    """Scales the gradient down to a global norm of `at` (Pascanu et al., arXiv 1211.5063)."""

    kind: Literal["global_norm"] = "global_norm"
    at: float = Field(default=1.0, gt=0)
    """Largest norm of the whole gradient; 1 is usual."""


class ClipAdaptive(Settings):
    """Scales each tensor's gradient down to a multiple of what its norm has been (AdaGC, arXiv 2502.11034)."""

    kind: Literal["adaptive"] = "adaptive"
    at: float = Field(default=1.05, gt=1)
    """Largest norm of a tensor's gradient, times the moving average of its own clipped norms."""
    decay: float = Field(default=0.98, ge=0, lt=1)
    """Of the moving average."""
    first: float = Field(default=1.0, gt=0)
    """Global norm that is clipped to until the averages are known."""
    first_steps: int = Field(default=100, ge=1)
    """How many updates that lasts."""


class ClipOff(Settings):
    """Measures the gradient norm and leaves the gradient as it is."""

    kind: Literal["off"] = "off"


Clip = Annotated[ClipGlobalNorm | ClipAdaptive | ClipOff, Field(discriminator="kind")]

"""How large gradients are bounded: one class for each way."""

from typing import Annotated, Literal

from pydantic import Field

from trimtab.config.settings import Settings


class ClipGlobalNorm(Settings):
    """Scales the gradient down to a global norm of `at` (Pascanu et al., arXiv 1211.5063)."""

    kind: Literal["global_norm"] = "global_norm"
    at: float = Field(default=1.0, gt=0)
    """Maximum norm of the whole gradient; 1 is usual."""


class ClipAdaptive(Settings):
    """Scales each tensor's gradient down to a multiple of its past norm (AdaGC, arXiv 2502.11034)."""

    kind: Literal["adaptive"] = "adaptive"
    at: float = Field(default=1.05, gt=1)
    """Maximum norm of a tensor's gradient, relative to the moving average of its own clipped norms."""
    decay: float = Field(default=0.98, ge=0, lt=1)
    """Decay of the moving average."""
    first: float = Field(default=1.0, gt=0)
    """Global norm to clip to until the averages are known."""
    first_steps: int = Field(default=100, ge=1)
    """Number of updates until then."""


class ClipOff(Settings):
    """Measures the gradient norm without changing the gradient."""

    kind: Literal["off"] = "off"


Clip = Annotated[ClipGlobalNorm | ClipAdaptive | ClipOff, Field(discriminator="kind")]

"""Which steps are refused before the weights move, and what happens where many are."""

from pydantic import Field, model_validator

from trimtab.config.settings import Settings, refused


class GuardConfig(Settings):
    """Which steps to skip: always those that are not finite, and with `outliers` those with an outlying loss or
    gradient norm."""

    outliers: bool = True
    """Skip a step whose loss or gradient norm is far above that of the last accepted steps."""
    window: int = Field(default=128, ge=16, le=4096)
    """Number of accepted steps in the statistics."""
    active_from: int = Field(default=64, ge=8)
    """Accepted steps before the first verdict on outliers."""
    loss_deviations: float = Field(default=8.0, ge=3)
    """Maximum distance of the loss above the median, in deviations (1.4826 times the median absolute deviation)."""
    norm_deviations: float = Field(default=10.0, ge=3)
    """Maximum distance of the logarithm of the gradient norm above its median, in deviations."""
    cap: int = Field(default=8, ge=2, le=1000)
    """After this many skipped steps in a row, the run evaluates an earlier batch. If it has its old loss, the data has
    changed and the guard accepts the new level; if the loss is higher, the run rolls back."""
    healthy_after: int = Field(default=200, ge=1)
    """Updates after which a checkpoint counts as healthy, so that the run may roll back to it."""
    rewinds: int = Field(default=3, ge=0, le=100)
    """How often in 1,000 steps a run may roll back to a healthy checkpoint, leaving out the steps around the spike;
    after that, it ends. With 0 it ends at once."""

    @model_validator(mode="after")
    def _active_within_the_window(self) -> "GuardConfig":
        if self.active_from > self.window:
            raise refused(
                "active_from",
                "active_from: is longer than the window, so the guard would never act",
                got=str(self.active_from),
                allowed=f"at most window, {self.window}",
                fix="lower active_from or raise window",
            )
        return self

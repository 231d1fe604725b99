"""Which steps are refused before the weights move, and what happens where many are."""

from pydantic import Field, model_validator

from trimtab.config.settings import Settings, refused


class GuardConfig(Settings):
    """Steps that are not applied: what is not finite always; outliers of loss and gradient norm where this is on."""

    outliers: bool = True
    """Refuse a step whose loss or gradient norm is far above the last accepted ones."""
    window: int = Field(default=128, ge=16, le=4096)
    """Accepted steps that are remembered."""
    active_from: int = Field(default=64, ge=8)
    """Accepted steps before the first verdict on outliers."""
    loss_deviations: float = Field(default=8.0, ge=3)
    """How far above the median the loss may be, in deviations (1.4826 times the median absolute deviation)."""
    norm_deviations: float = Field(default=10.0, ge=3)
    """How far above the median the logarithm of the gradient norm may be, in deviations."""
    cap: int = Field(default=8, ge=2, le=1000)
    """So many refused in a row are looked into: where an older window has its old loss, the data has changed, and the
    new level is learned; where it is worse, the run goes back."""
    healthy_after: int = Field(default=200, ge=1)
    """A checkpoint is healthy, and the run may go back to it, after so many updates more."""
    rewinds: int = Field(default=3, ge=0, le=100)
    """How often in 1,000 steps a run may go back to a healthy checkpoint, leaving out the windows around what spoilt
    it; then it ends. With 0 it ends at once."""

    @model_validator(mode="after")
    def _active_within_the_window(self) -> "GuardConfig":
        if self.active_from > self.window:
            raise refused(
                "active_from",
                "active_from: is longer than the window, so the guard would never speak",
                got=str(self.active_from),
                allowed=f"at most window, {self.window}",
                fix="lower active_from or raise window",
            )
        return self

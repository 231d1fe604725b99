"""The verdict on outliers, on the device: nothing waits for the GPU. Its slow twin is `trimtab.guard.outlier`."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from trimtab.config.guard import GuardConfig

NORMAL_MAD = 1.4826
"""The standard deviation of a normal distribution is so many median absolute deviations."""
LEAST_NORM = 1e-30
LEAST_NORM_DEVIATION = 0.18
LEAST_LOSS_DEVIATION = 1e-3


class OutlierGate:
    """Remembers loss and log gradient norm of the last accepted steps in two rings on the device.

    The bound of each is its median plus a number of deviations (1.4826 times the median absolute deviation): unlike
    mean and deviation, these hold still while outliers come in a cluster. Of an even number the lower middle is taken.
    Written with few operations, since a step of a small model waits for their launch and not for their work.
    """

    def __init__(self, config: GuardConfig) -> None:
        self.config = config
        self.masked = False
        """Whether the step at hand is left out whatever it shows."""
        self.rings: Float[Tensor, "two window"] | None = None
        """Losses, log norms; NaN where nothing has been yet, which is sorted to the end."""
        self.accepted: Int[Tensor, ""] | None = None
        """Steps accepted since the rings were empty."""
        self.constants: Float[Tensor, "three two"] | None = None
        """Least deviation as a share of the median; least deviation; deviations that pass."""
        self.seen: Float[Tensor, "two"] | None = None
        """The step at hand, until its verdict."""

    @torch.no_grad()
    def __call__(
        self, loss: Float[Tensor, ""], grad_norm: Float[Tensor, ""]
    ) -> tuple[Bool[Tensor, ""], Bool[Tensor, ""]]:
        """Whether the loss (nats per target) and whether the norm before clipping is an outlier."""
        if not self.config.outliers:
            never = torch.zeros((), dtype=torch.bool, device=loss.device)
            return never, never
        rings, accepted, (share, least, deviations) = self.state_on(loss.device)
        self.seen = torch.stack([loss.detach().float(), grad_norm.float().clamp(min=LEAST_NORM).log()])
        # Sorted, since nanmedian is refused where only deterministic algorithms are allowed; NaN comes last.
        place = ((accepted.clamp(max=self.config.window) - 1).clamp(min=0) // 2).expand(2, 1)
        middle = rings.sort(dim=1).values.gather(1, place)
        spread = (rings - middle).abs_().sort(dim=1).values.gather(1, place).squeeze(1) * NORMAL_MAD
        middle = middle.squeeze(1)
        spread = spread.maximum(torch.addcmul(least, share, middle.abs()))
        above = (self.seen > torch.addcmul(middle, deviations, spread)) & (
            accepted >= self.config.active_from
        )
        return above[0], above[1]

    @torch.no_grad()
    def of_loss(self, loss: Float[Tensor, ""]) -> Bool[Tensor, ""]:
        """Whether the loss is an outlier, where the norm is not known yet; `now_known` tells it."""
        return self(loss, torch.zeros_like(loss))[0]

    @torch.no_grad()
    def now_known(self, grad_norm: Float[Tensor, ""]) -> None:
        """The norm of the step that `of_loss` judged."""
        if self.seen is not None:
            self.seen[1] = grad_norm.float().clamp(min=LEAST_NORM).log()

    @torch.no_grad()
    def after(self, skipped: Bool[Tensor, ""]) -> None:
        """Remembers the step unless it was skipped."""
        if self.seen is None or self.rings is None or self.accepted is None:
            return
        applied = ~skipped
        slots = torch.arange(self.config.window, device=self.rings.device)
        here = (slots == self.accepted % self.config.window) & applied
        self.rings.copy_(torch.where(here, self.seen.unsqueeze(1), self.rings))
        self.accepted += applied
        self.seen = None

    def forget(self) -> None:
        """Begins again, after the level has changed for good."""
        self.seen = None
        if self.rings is not None and self.accepted is not None:
            self.rings.fill_(torch.nan)
            self.accepted.zero_()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint, oldest first."""
        if self.rings is None or self.accepted is None or not int(self.accepted):
            return {}
        window, accepted = self.config.window, int(self.accepted)
        known = min(accepted, window)
        order = [(accepted - known + number) % window for number in range(known)]
        return {
            name: ring[order].tolist() for name, ring in zip(("losses", "log_norms"), self.rings, strict=True)
        }

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint; where the window has become shorter, with the newest."""
        losses, log_norms = (
            list(saved.get(key, ()))[-self.config.window :] for key in ("losses", "log_norms")
        )
        if losses:
            rings = torch.full((2, self.config.window), torch.nan)
            rings[:, : len(losses)] = torch.tensor([losses, log_norms])
            mine, accepted, _ = self.state_on(
                torch.device("cpu") if self.rings is None else self.rings.device
            )
            mine.copy_(rings)
            accepted.fill_(len(losses))

    def state_on(
        self, device: torch.device
    ) -> tuple[Float[Tensor, "two window"], Int[Tensor, ""], Float[Tensor, "three two"]]:
        """Rings, count and constants on a device; empty and 0 before the first step."""
        if self.rings is None or self.accepted is None:
            self.rings = torch.full((2, self.config.window), torch.nan)
            self.accepted = torch.zeros((), dtype=torch.int64)
        if self.constants is None:
            config = self.config
            self.constants = torch.tensor(
                [
                    [LEAST_LOSS_DEVIATION, 0.0],
                    [0.0, LEAST_NORM_DEVIATION],
                    [config.loss_deviations, config.norm_deviations],
                ]
            )
        self.rings, self.accepted, self.constants = (
            each.to(device) for each in (self.rings, self.accepted, self.constants)
        )
        return self.rings, self.accepted, self.constants

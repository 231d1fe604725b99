"""Each tensor's gradient against what its own norm has been."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from trimtab.arguments import instance_of, wrong
from trimtab.config.step import ClipAdaptive
from trimtab.step.clip.gradients import gradients_of, is_sharded


class AdaptiveClip:
    """Scales each gradient down to `at` times the moving average of its own clipped norms.

    For the first updates the averages are not known: the global norm is clipped, and each tensor remembers the smallest
    norm it had. A skipped step leaves no trace. Source: Wang et al., arXiv 2502.11034, algorithm 1, save that a norm of
    0 teaches nothing: an average of 0 would keep its tensor from ever moving again.

    Takes parameters or gradients, as `clip_global_norm` does: of the same tensors in each step, in the same order.
    Raises InputError for others.
    """

    def __init__(self, config: ClipAdaptive) -> None:
        self.config = instance_of(
            config,
            ClipAdaptive,
            name="AdaptiveClip: config",
            allowed="a ClipAdaptive",
            fix="`from trimtab.config.step import ClipAdaptive`, then AdaptiveClip(ClipAdaptive())",
        )
        self.updates: Float[Tensor, ""] | None = None
        """Steps learned from; on the device, like the averages, once the first gradients have come."""
        self.averages: Float[Tensor, "tensors"] | None = None
        self.seen: Float[Tensor, "tensors"] | None = None
        """Clipped norms of the step at hand, until its verdict."""

    @torch.no_grad()
    def __call__(
        self, gradients: Iterable[Tensor], *, unscale: Float[Tensor, ""] | None = None
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The global norm before clipping, and the share of tensors that were scaled down."""
        gradients = gradients_of(gradients, part="AdaptiveClip")
        if not gradients or (self.averages is not None and len(gradients) != len(self.averages)):
            raise wrong(
                "AdaptiveClip: parameters",
                "has other tensors with a gradient than the steps before" if gradients else "has no gradient",
                got=f"{len(gradients)} gradients",
                allowed="at least one"
                if self.averages is None
                else f"{len(self.averages)} gradients, in one order",
                fix="call it after backward, and let every trainable tensor take part in each step",
            )
        if any(is_sharded(each) for each in gradients):
            raise wrong(
                "AdaptiveClip: parameters",
                "are sharded over ranks",
                got="gradients of fully_shard",
                allowed="whole gradients",
                fix="use clip_global_norm, which measures over ranks",
            )
        norms = torch.stack(torch._foreach_norm(gradients)).float()
        if unscale is not None:
            norms = norms * unscale
        norm = norms.norm()
        averages, updates = self.state_on(norms)
        together = self.config.first / norm.clamp(min=self.config.first)
        alone = self.config.at * averages / norms.clamp(min=1e-30)
        factors = torch.where(updates < self.config.first_steps, together, alone).clamp(max=1.0)
        self.seen = norms * factors
        scales = factors if unscale is None else factors * unscale
        for gradient, scale in zip(gradients, scales.unbind(), strict=True):
            gradient.mul_(scale.to(gradient.dtype))
        return norm, (factors < 1).float().mean()

    @torch.no_grad()
    def after(self, skipped: Bool[Tensor, ""]) -> None:
        """Takes the clipped norms of the step into the averages, unless it was skipped."""
        if self.seen is None or self.averages is None or self.updates is None:
            return
        smallest = torch.minimum(self.averages, self.seen)
        moved = self.config.decay * self.averages + (1 - self.config.decay) * self.seen
        first = (self.updates < self.config.first_steps) | self.averages.isinf()
        learned = torch.where(first, smallest, moved)
        self.averages.copy_(torch.where(skipped | (self.seen == 0), self.averages, learned))
        self.updates.copy_(torch.where(skipped, self.updates, self.updates + 1))
        self.seen = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint."""
        if self.averages is None or self.updates is None:
            return {}
        if not self.updates:
            return {}  # as new; and JSON has no infinity
        return {"updates": float(self.updates), "averages": self.averages.tolist()}

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint."""
        if not saved:  # as new
            if self.averages is not None and self.updates is not None:
                self.averages.fill_(torch.inf)
                self.updates.zero_()
            return
        updates, averages = torch.tensor(saved["updates"]), torch.tensor(saved["averages"])
        if self.averages is None or self.updates is None:
            self.updates, self.averages = updates, averages
        else:
            self.updates.copy_(updates)
            self.averages.copy_(averages)

    def state_on(self, norms: Float[Tensor, "tensors"]) -> tuple[Float[Tensor, "tensors"], Float[Tensor, ""]]:
        """Averages and the count of updates on the gradients' device; infinite and 0 before the first."""
        if self.averages is None or self.updates is None:
            self.averages = torch.full_like(norms, torch.inf)
            self.updates = torch.zeros_like(norms[0])
        self.averages, self.updates = self.averages.to(norms.device), self.updates.to(norms.device)
        return self.averages, self.updates

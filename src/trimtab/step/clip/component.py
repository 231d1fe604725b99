"""Each component of a modular model clipped by itself, with what that does to the direction of the whole gradient."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Components:
    """Which component each gradient belongs to, in the order in which a clip is given them."""

    names: tuple[str, ...]
    owners: tuple[int, ...]
    """Of each gradient, the number of its component."""


class ComponentClip:
    """Scales the gradient of each component separately down to a norm of `at`, as Mammoth's documentation describes.

    This changes the direction of the whole gradient. `details` gives the cosine between the gradient before and after,
    which is 1 for a global norm. A skipped step is not counted.
    """

    def __init__(
        self, at: float, components: Components, *, squares_of_step: Callable[[], Tensor] | None = None
    ) -> None:
        """`squares_of_step` gives the squared norm of each component over all ranks, where a rank has the gradients of
        some components alone."""
        self.at, self.components, self.squares_of_step = at, components, squares_of_step
        self.n_clips: Float[Tensor, "components"] | None = None
        """Steps in which each component was scaled down; on the device once the first gradients have come."""
        self.cosine: Float[Tensor, ""] | None = None
        self.seen: Float[Tensor, "components"] | None = None
        """1 for each component that was scaled down in the step at hand, until its verdict."""
        self.owners: Tensor | None = None

    @torch.no_grad()
    def __call__(
        self, gradients: Sequence[Tensor], *, unscale: Float[Tensor, ""] | None = None
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The norm over all gradients together before clipping, and the share of components that were scaled down."""
        gradients = list(gradients)
        assert len(gradients) == len(self.components.owners), (
            f"{len(gradients)} gradients for {len(self.components.owners)} weights"
        )
        squares = torch.stack(torch._foreach_norm(gradients)).float().square()
        owners, counts = self.state_on(squares)
        squares = torch.zeros_like(counts).index_add_(0, owners, squares)
        if self.squares_of_step is not None:
            squares = self.squares_of_step().float()
        if unscale is not None:
            squares = squares * unscale.square()
        norms = squares.sqrt()
        factors = self.at / norms.clamp(min=self.at)
        self.seen = (norms > self.at).float()
        scales = (factors if unscale is None else factors * unscale)[owners]
        for gradient, scale in zip(gradients, scales.unbind(), strict=True):
            gradient.mul_(scale.to(gradient.dtype))
        norm = squares.sum().sqrt()
        after = (factors.square() * squares).sum().sqrt()
        self.cosine = (factors * squares).sum() / (norm * after).clamp(min=1e-30)
        return norm, self.seen.mean()

    @torch.no_grad()
    def after(self, skipped: Bool[Tensor, ""]) -> None:
        """Counts the components that the step clipped, unless it was skipped."""
        if self.seen is None or self.n_clips is None:
            return
        self.n_clips.add_(torch.where(skipped, torch.zeros_like(self.seen), self.seen))
        self.seen = None

    def details(self) -> Float[Tensor, "numbers"] | None:
        """The cosine, then how often each component was clipped so far; None before the first step."""
        if self.cosine is None or self.n_clips is None:
            return None
        return torch.cat([self.cosine.reshape(1), self.n_clips])

    def named(self, details: Sequence[float]) -> dict[str, Any]:
        """What `details` gave, by the names that `metrics.jsonl` has for it."""
        cosine, *counts = details
        named = zip(self.components.names, counts, strict=True)
        return {"clip_cosine": round(cosine, 6), "n_clips": {name: int(count) for name, count in named}}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for the checkpoint."""
        if self.n_clips is None:
            return {}
        return {"n_clips": dict(zip(self.components.names, self.n_clips.tolist(), strict=True))}

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint; components that it does not know begin at 0."""
        counts = saved.get("n_clips", {})
        found = torch.tensor([float(counts.get(name, 0)) for name in self.components.names])
        if self.n_clips is None:
            self.n_clips = found
        else:
            self.n_clips.copy_(found)

    def state_on(self, norms: Float[Tensor, "tensors"]) -> tuple[Tensor, Float[Tensor, "components"]]:
        """Owners and counts on the gradients' device, where they stay."""
        if self.owners is None:
            self.owners = torch.tensor(self.components.owners, device=norms.device)
        if self.n_clips is None:
            self.n_clips = torch.zeros(len(self.components.names), device=norms.device)
        if self.n_clips.device != norms.device:
            self.n_clips = self.n_clips.to(norms.device)
        return self.owners, self.n_clips

"""Batch norm as a run needs it: live statistics that a skipped step does not change, stored ones, or GroupNorm."""

import math
from collections.abc import Iterator
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from trimtab.distributed import Ranks

MOMENTUM = 0.1
"""Share of a step's statistics in the stored ones, as PyTorch's default."""
GROUPS = 32
"""At most, as in arXiv 1803.08494, of at least 4 channels each."""
FROZEN_CLASSES = ("FrozenBatchNorm2d",)
"""How the names of transformers' own frozen norms end."""


class StepBatchNorm(nn.Module):
    """Batch norm (arXiv 1502.03167) whose stored statistics change once a step, when the step is applied.

    PyTorch's changes them in each forward pass: in checks before the first step, in steps that the guard skips, and as
    often as a step has micro-batches. Here the means and variances of the micro-batches of a step are collected, and
    `apply` stores their mean. The names of weights and buffers are those of `nn.BatchNorm2d`.
    """

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, channels: int, *, eps: float, live: bool) -> None:
        super().__init__()
        self.eps, self.live = eps, live
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))
        self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long))
        self.collected: list[tuple[Tensor, Tensor, Tensor]] = []
        """Of each forward pass in training: mean, variance, and the number of values that they are of."""

    def forward(
        self, x: Float[Tensor, "images channels height width"]
    ) -> Float[Tensor, "images channels height width"]:
        """Normalized by the statistics of the batch while training live, otherwise by the stored ones."""
        if not (self.training and self.live):
            return F.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
            )
        with torch.no_grad():
            variance, mean = torch.var_mean(x.float(), dim=(0, 2, 3), correction=0)
            count = x.numel() // x.shape[1]
            self.collected.append(
                (mean, variance * count / max(1, count - 1), mean.new_full((), float(count)))
            )
        return F.batch_norm(x, None, None, self.weight, self.bias, True, 0.0, self.eps)

    def forget(self) -> None:
        """Drops what was collected."""
        self.collected = []

    def sums(self) -> Float[Tensor, "numbers"]:
        """What was collected, added up: means and variances times their numbers of values, and these numbers."""
        channels = len(self.running_mean)
        out = self.running_mean.new_zeros(2 * channels + 1)
        for mean, variance, count in self.collected:
            out += torch.cat([mean * count, variance * count, count[None]])
        return out

    @torch.no_grad()
    def apply_sums(self, sums: Float[Tensor, "numbers"], skipped: Int[Tensor, ""]) -> None:
        """Stores the mean of what was collected on all ranks, unless the step was skipped, or it is not finite."""
        channels = len(self.running_mean)
        mean, variance = sums[:-1].view(2, channels) / sums[-1].clamp(min=1)
        use = (skipped == 0) & (sums[-1] > 0) & sums.isfinite().all()
        for stored, new in ((self.running_mean, mean), (self.running_var, variance)):
            stored.copy_(torch.where(use, torch.lerp(stored, new.to(stored), MOMENTUM), stored))


class BatchStatistics:
    """The statistics of all live norms of a model; see `step.stepper.Stepper`."""

    def __init__(self, model: nn.Module) -> None:
        self.norms = [each for each in model.modules() if isinstance(each, StepBatchNorm) and each.live]

    def begin_step(self) -> None:
        """Forgets what passes outside of steps have left."""
        for norm in self.norms:
            norm.forget()

    def end_step(self, skip_reason: Int[Tensor, ""], ranks: Ranks) -> None:
        """Stores the statistics of a step that was applied; the same on every rank."""
        if not self.norms:
            return
        sums = [norm.sums() for norm in self.norms]
        ranks.sum_tensors(sums)
        for norm, total in zip(self.norms, sums, strict=True):
            norm.apply_sums(total, skip_reason)
            norm.forget()


def replace_norms(
    network: nn.Module, kind: Literal["live", "frozen", "group"], *, trained: tuple[str, ...] = ("",)
) -> int:
    """Puts norms of this kind in the place of every batch norm, also of those that transformers froze when it built the
    network (DFineConfig.freeze_backbone_batch_norms); gives their number. Affine weights and stored statistics are
    kept, except that GroupNorm has no statistics. `frozen` is for norms whose names begin with one of `trained`: the
    others have statistics of nothing, and are live."""
    found = [*_batch_norms(network)]
    for owner, name, path, norm in found:
        has_statistics = kind != "frozen" or path.startswith(trained)
        setattr(owner, name, _like(norm, kind if has_statistics else "live"))
    return len(found)


def _batch_norms(network: nn.Module) -> Iterator[tuple[nn.Module, str, str, Any]]:
    for path, module in network.named_modules():
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d) or type(child).__name__.endswith(FROZEN_CLASSES):
                yield module, name, f"{path}.{name}".lstrip("."), child


@torch.no_grad()
def _like(norm: Any, kind: Literal["live", "frozen", "group"]) -> nn.Module:
    channels = len(norm.weight)
    # Frozen norms of transformers have 1e-5 built in; RT-DETR gives its width as `eps` by mistake of position.
    eps = float(getattr(norm, "eps", 1e-5))
    if kind == "group":
        groups = math.gcd(channels, min(GROUPS, max(1, channels // 4)))
        made: nn.Module = nn.GroupNorm(groups, channels, eps=eps)
    else:
        made = StepBatchNorm(channels, eps=eps, live=kind == "live")
        made.running_mean.copy_(norm.running_mean)
        made.running_var.copy_(norm.running_var)
    made.weight.copy_(norm.weight)
    made.bias.copy_(norm.bias)
    return made

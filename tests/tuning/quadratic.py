"""A run whose loss is a quadratic with known noise, with the parts that a trial looks at and nothing else."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch import nn

from trimtab.config.guard import GuardConfig
from trimtab.config.optimizers import SGD
from trimtab.config.step import ClipOff, Constant
from trimtab.run_clock import RunClock
from trimtab.step.clip.build import build_clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.build import build_optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.stepper import Stepper
from trimtab.tuning.trial import Trial
from trimtab.types import LossOutput, TrainState

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Points:
    """Some examples, each a point that the weights are drawn to."""

    points: torch.Tensor

    @property
    def num_targets(self) -> int:
        return len(self.points)

    @property
    def num_tokens(self) -> int:
        return len(self.points)

    @property
    def num_slots(self) -> int:
        return len(self.points)

    @property
    def static_key(self) -> Hashable:
        return self.points.shape

    def tensors(self) -> list[torch.Tensor]:
        return [self.points]

    def pin(self) -> "Points":
        return self

    def clone(self) -> "Points":
        return Points(self.points.clone())

    def blank(self) -> "Points":
        return self

    @property
    def device(self) -> torch.device:
        return CPU

    def to(self, device: torch.device) -> "Points":
        return self


class Bowl(nn.Module):
    """The loss of a point z is h/2 |x - z|^2: its gradient is h (x - z), the covariance of which is h^2 that of z."""

    def __init__(self, start: torch.Tensor, *, curvature: float) -> None:
        super().__init__()
        self.x, self.curvature = nn.Parameter(start.clone()), curvature

    def forward(self, batch: Points) -> LossOutput:
        total = self.curvature / 2 * (self.x - batch.points).square().sum()
        return LossOutput(total, total.detach())


def quadratic_trial(
    start: torch.Tensor, steps: Sequence[Sequence[torch.Tensor]], *, curvature: float = 1.0
) -> Trial:
    """A trial of SGD without momentum, whose next steps have these micro-batches."""
    model = Bowl(start, curvature=curvature)
    optimizer = SGD(momentum=0.0, learning_rate=0.25)
    step = SimpleNamespace(tokens_per_step=sum(map(len, steps[0])), optimizer=optimizer, schedule=Constant())
    stepper = Stepper(
        objective=model,
        loss=SimpleNamespace(truncating=False),
        optimizer=build_optimizer(optimizer, model),
        clip=build_clip(ClipOff()),
        scale=LossScale(enabled=False, device=CPU),
        gate=OutlierGate(GuardConfig(outliers=False)),
        clock=RunClock(100),
        seed=1,
    )
    stream = [(None, [Points(points) for points in packs]) for packs in steps]
    parts = SimpleNamespace(
        recipe=SimpleNamespace(
            step=step, facts=SimpleNamespace(targets="examples"), model=SimpleNamespace(dim=1)
        ),
        device=CPU,
        model=model,
        stepper=stepper,
        stream=SimpleNamespace(host_batches=lambda position, step: iter(stream)),
    )
    return Trial(parts, TrainState(), "bowl")

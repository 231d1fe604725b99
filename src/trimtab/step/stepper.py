"""Everything that one update needs beside the data: objective, optimizer, clipping, loss scale, the guard's gate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor, nn

from trimtab.distributed import ONE_RANK, Ranks, SumsByComponent
from trimtab.distributed.share import dropout_seed
from trimtab.run_clock import RunClock
from trimtab.step.clip.protocol import Clip
from trimtab.step.loss_scale import LossScale
from trimtab.step.optimizer.protocol import Optimizer
from trimtab.step.outlier_gate import OutlierGate
from trimtab.step.precision import Resolved, autocast
from trimtab.step.released_steps import ReleasedSteps
from trimtab.step.step_graphs import StepGraphs
from trimtab.step.take_step import StepsOverRanks
from trimtab.types import Batch, LossOutput, StepReport, TrainState
from trimtab.units import Duration


class TrainingModule(nn.Module):
    """Forward pass and summed loss of one micro-batch, in the run's precision.

    The loss reads weights of the model, such as the output matrix, inside of `forward`: DDP and FSDP2 gather what is
    used there and nothing else.
    """

    def __init__(
        self,
        model: nn.Module,
        compute_loss: Callable[[nn.Module, Any], LossOutput],
        *,
        precision: Resolved,
        device: torch.device,
    ) -> None:
        super().__init__()
        self.model = model
        self.compute_loss = compute_loss
        self.precision: Resolved = precision
        self.device = device

    def forward(self, batch: Batch) -> LossOutput:
        """The summed loss of a micro-batch on the device."""
        with autocast(self.precision, self.device):
            return self.compute_loss(self.model, batch)


@runtime_checkable
class Truncates(Protocol):
    """A loss that can leave out the labels with the largest errors."""

    truncating: bool
    """Whether it does so in the step at hand."""


@runtime_checkable
class Unfreezes(Protocol):
    """What decides which weights are trained."""

    def begin(self, step: int) -> bool:
        """Freezes what is frozen when so many steps have been taken, and nothing else; whether that is a change."""
        ...

    def described(self) -> list[tuple[int, int, int]]:
        """Of each stage the first step, counted from 1, and how many weights and numbers it trains."""
        ...


@runtime_checkable
class Fades(Protocol):
    """A part of the model that fades."""

    def begin(self, step: int) -> None:
        """Sets what is left of it when so many steps have been taken."""
        ...


@runtime_checkable
class CollectsStatistics(Protocol):
    """Statistics of activations that a model stores beside its weights, as batch norm does."""

    def begin_step(self) -> None:
        """Forgets what passes outside of steps have left."""
        ...

    def end_step(self, skip_reason: Int[Tensor, ""], ranks: Ranks) -> None:
        """Stores those of a step that was applied."""
        ...


@runtime_checkable
class HasStatistics(Protocol):
    """A model that may store such statistics."""

    @property
    def batch_statistics(self) -> CollectsStatistics | None:
        """Those that it stores; None where this one stores none."""
        ...


def statistics_of(model: Any) -> CollectsStatistics | None:
    """The statistics that a model stores; None where it stores none."""
    return model.batch_statistics if isinstance(model, HasStatistics) else None


@dataclass(slots=True)
class Stepper:
    """Takes the steps of a run, each a function of where the run is."""

    objective: Callable[[Batch], LossOutput]
    """Forward pass and summed loss of one micro-batch on the device, in the run's precision."""
    loss: Truncates
    optimizer: Optimizer
    clip: Clip
    scale: LossScale
    gate: OutlierGate
    clock: RunClock
    seed: int
    """Of dropout."""
    truncate_after: Duration | None = None
    """From where on the loss leaves labels out; None for never."""
    graphs: StepGraphs | None = None
    """Takes the steps where they are recorded."""
    statistics: CollectsStatistics | None = None
    """What the model's norms keep of the batches of applied steps; None where they keep nothing."""
    released: ReleasedSteps | None = None
    """Takes the steps where gradients are used within the backward pass."""
    unfreezing: Unfreezes | None = None
    """Where some weights are frozen for the first steps alone."""
    fading: Fades | None = None
    """Where absolute positions fade."""
    ranks: Ranks = ONE_RANK
    """The processes that take each step together."""

    def begin(self, state: TrainState) -> None:
        """Prepares the next step: its dropout, which weights it trains, whether its loss truncates, and whether it is
        left out because it lies near a step that damaged the run. All of it follows from where the run is."""
        self.train_weights_of(state.step)
        if isinstance(self.ranks, SumsByComponent):
            self.ranks.train_own()
        if self.fading is not None:
            self.fading.begin(state.step)
        after = self.truncate_after
        self.loss.truncating = after is not None and self.clock.share(after, state) >= 1
        masked = state.guard.get("masked", ())
        self.gate.masked = any(first <= state.step + 1 <= last for first, last in masked)
        self.reseed(state.step)

    def train_weights_of(self, step: int) -> None:
        """Sets which weights are trained when so many steps have been taken; a recorded step trains others no more."""
        if self.unfreezing is not None and self.unfreezing.begin(step) and self.graphs is not None:
            self.graphs.start_over()

    def reseed(self, step: int) -> None:
        """Makes dropout a function of the seed, the step and the rank, so that nothing of it needs to be saved."""
        torch.manual_seed(dropout_seed(self.seed, step=step, rank=self.ranks.rank))

    def take_step(self, batches: Sequence[Batch], *, learning_rate: float) -> StepReport:
        """One update of the weights from the micro-batches of a global batch, of which this rank has its share."""
        steps = self.released or self.graphs or StepsOverRanks(self.ranks)
        if self.statistics is not None:
            self.statistics.begin_step()
        report = steps.take_step(
            self.objective,
            self.optimizer,
            batches,
            clip=self.clip,
            scale=self.scale,
            gate=self.gate,
            learning_rate=learning_rate,
        )
        if self.statistics is not None:
            self.statistics.end_step(report.skip_reason, self.ranks)
        return report

    def make_room_to_evaluate(self) -> None:
        """Gives back memory that only steps can use; they are recorded again afterwards."""
        if self.graphs is not None:
            self.graphs.make_room_to_evaluate()

    def to_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of it beside the optimizer's moments, in plain numbers."""
        return {
            "loss_scale": self.scale.to_dict(),
            "clip": self.clip.to_dict(),
            "gate": self.gate.to_dict(),
        }

    def from_dict(self, saved: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint."""
        self.scale.from_dict(saved.get("loss_scale", {}))
        self.clip.from_dict(saved.get("clip", {}))
        self.gate.forget()
        self.gate.from_dict(saved.get("gate", {}))

"""The parts of the small recipe with a recorder beside them: the loop without the launch around it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tests.small_run import small_parts
from trimtab.build import Parts
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps
from trimtab.checkpoint.store import CheckpointStore
from trimtab.finding import Finding
from trimtab.training.record import Recorder
from trimtab.training.recovery import train_with_recovery
from trimtab.types import LossOutput, TrainState


@dataclass
class Told:
    """A progress that keeps what it is told; `watch` is called after each step."""

    findings: list[Finding] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    watch: Any = None

    def message(self, text):
        pass

    def step(self, metrics, *, share, seconds_left):
        self.steps.append(metrics)
        self.shares.append(share)
        if self.watch:
            self.watch(metrics["step"])

    def evaluation(self, scores):
        self.evaluations.append(scores)

    def finding(self, finding):
        self.findings.append(finding)


@dataclass
class Line:
    parts: Parts
    run: RunFolder
    recorder: Recorder
    told: Told

    def train(self, state: TrainState | None = None) -> TrainState:
        try:
            state = train_with_recovery(self.parts, state or TrainState(), self.recorder)
        except BaseException:
            self.recorder.checkpointer.close()  # a run that ends early waits for the save under way, as `launch` does
            raise
        self.recorder.checkpointer.collect(raising=True)
        return state

    def log(self, name: str) -> list[dict[str, Any]]:
        """The lines of a log, such as `metrics`."""
        self.recorder.logger.flush()
        return list(read_journal(self.run.path / f"{name}.jsonl"))

    def saved_steps(self) -> list[int]:
        return list_steps(self.run.checkpoints)

    def weights(self) -> dict[str, torch.Tensor]:
        return snapshot(self.parts.model.state_dict())

    def poison(self, *, from_step: int, until_step: int) -> None:
        """The objective of these steps (counted from 1) is not a number; so are all gradients."""
        healthy = self.parts.stepper.objective

        def objective(pack):
            out = healthy(pack)
            if from_step <= len(self.told.steps) + 1 <= until_step and torch.is_grad_enabled():
                return LossOutput(out.objective * float("nan"), out.loss)
            return out

        self.parts.stepper.objective = objective


def small_line(folder: Path, **changes: Any) -> Line:
    parts = small_parts(folder / "data", **{"step.schedule.warmup": "2 steps", **changes})
    run = RunFolder.create(folder / "run")
    told = Told()
    recipe = parts.recipe
    store = CheckpointStore(
        run.checkpoints,
        keep=recipe.checkpoint.keep,
        settling=recipe.guard.healthy_after if recipe.guard.rewinds else 0,
        tell=told.finding,
    )
    return Line(parts, run, Recorder(run, store, parts, told, {"data": "as it was"}), told)


def snapshot(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)

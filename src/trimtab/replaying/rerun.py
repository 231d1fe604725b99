"""The steps of a run taken again, as training took them, and windows measured without moving anything."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from trimtab.build import Parts
from trimtab.model.lora import checkpoint_weights
from trimtab.replaying.evidence import Measure
from trimtab.step.accumulate import accumulate
from trimtab.step.clip.global_norm import scale_to_norm
from trimtab.step.take_step import take_step
from trimtab.types import Batch, GlobalBatch, SkipReason, StepReport, TrainState

Records = Mapping[int, Mapping[str, Any]]
"""Lines of `metrics.jsonl` by step."""


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A window of the stream and where the run was before it."""

    before: TrainState
    window: GlobalBatch
    packs: Sequence[Batch]

    @property
    def step(self) -> int:
        """The step that consumes the window, counted from 1."""
        return self.before.step + 1


def recorded_steps(parts: Parts, state: TrainState, records: Records) -> Generator[RecordedStep, None, None]:
    """The windows from a state on, in order; counts of time are taken from the record."""
    with closing(parts.stream.batches(state.position, step=state.step)) as windows:
        for window, packs in windows:
            yield RecordedStep(state, window, packs)
            seconds = records.get(state.step + 1, {}).get("seconds", state.seconds)
            state = replace(
                state,
                step=state.step + 1,
                position=window.position,
                target_tokens=state.target_tokens + window.num_targets,
                tokens=state.tokens + window.num_tokens,
                seconds=seconds,
            )


def take(parts: Parts, station: RecordedStep, records: Records) -> StepReport:
    """The step as training took it, at the learning rate and with the verdict on outliers that it wrote down: the guard
    may have learned another level since, or have gone back and left some steps out."""
    parts.stepper.begin(station.before)
    line = records.get(station.step, {})
    rate = line.get("learning_rate")
    if "skipped" in line:
        parts.stepper.gate.masked = bool(line["skipped"]) and is_finite(line)
    unasked = "skipped" in line and not parts.stepper.gate.masked
    report = take_step(
        parts.stepper.objective,
        parts.stepper.optimizer,
        station.packs,
        clip=parts.stepper.clip,
        scale=parts.stepper.scale,
        gate=None if unasked else parts.stepper.gate,
        learning_rate=parts.learning_rate.at(station.before) if rate is None else float(rate),
    )
    if unasked:  # it must know the step anyway, to judge later ones of which nothing is written down
        parts.stepper.gate(report.loss, report.grad_norm)
        parts.stepper.gate.after(report.skip_reason > 0)
    return report


def recorded(line: Mapping[str, Any]) -> Measure | None:
    """What a line of `metrics.jsonl` says of its step; None if it says nothing."""
    try:
        return Measure(float(line["loss"]), float(line["grad_norm"]))
    except (TypeError, KeyError, ValueError):
        return None


def was_skipped(line: Mapping[str, Any]) -> bool:
    """Whether the step was refused for what it showed, and neither left out on purpose nor by a loss scale."""
    on_purpose = {SkipReason.MASKED.name.lower(), SkipReason.OVERFLOW.name.lower()}
    return bool(line.get("skipped")) and line.get("refused") not in on_purpose


def is_finite(line: Mapping[str, Any]) -> bool:
    """Whether loss and norm were numbers, so that only the guard can have refused the step."""
    found = recorded(line)
    return found is not None and found.finite


def measure(parts: Parts, station: RecordedStep) -> Measure:
    """Loss and gradient norm of a window by the present weights, with the dropout of its step; moves nothing."""
    parts.stepper.begin(station.before)
    total = accumulate(parts.stepper.objective, station.packs, scale=parts.stepper.scale)
    parameters = parts.stepper.optimizer.parameters
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm, _ = scale_to_norm(gradients, at=None, unscale=parts.stepper.scale.inverse)
    for parameter in parameters:
        parameter.grad = None
    return Measure(float(total.loss), float(norm))


def copy_of(parts: Parts) -> dict[str, Tensor]:
    """The present weights, in host memory."""
    return {
        name: tensor.detach().to("cpu", copy=True) for name, tensor in checkpoint_weights(parts.model).items()
    }

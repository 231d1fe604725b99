"""Resets parts of a run that resumes (`--reset`), and says of each part what is kept and what is not."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from trimtab.build import Parts
from trimtab.checkpoint.load import Checkpoint
from trimtab.config.resets import RESETS, Reset
from trimtab.errors import InputError, Problem
from trimtab.model.lora import checkpoint_weights
from trimtab.run_clock import RunClock
from trimtab.types import TrainState

OF_GRADIENTS = ("clip", "gate")
"""What a state keeps of the sizes of losses and gradients, to tell outliers by."""
OF_THE_STREAM = ("refusals", "masked")
"""What it keeps of single batches, by their place in the data."""


def kept_by_the_guard(saved: Mapping[str, Any], reset: Collection[Reset]) -> dict[str, Any]:
    """What stays of `TrainState.guard`: sizes of gradients hold for one objective and data, places for the data."""
    gone = (OF_GRADIENTS if {"optimizer", "data"} & {*reset} else ()) + (
        OF_THE_STREAM if "data" in reset else ()
    )
    return {name: value for name, value in saved.items() if name not in gone}


def with_resets(state: TrainState, reset: Collection[Reset], *, clock: RunClock, epoch: float) -> TrainState:
    """The state from which the run continues.

    `epoch` is how many epochs of the data before were done, as the metrics record it, and nan where they do not; it
    must be the same on all ranks. It counts where the data are reset: `clock` knows the new ones.
    """
    if not reset:
        return state
    is_recorded = "data" in reset and not math.isnan(epoch)
    passed = epoch if is_recorded else state.position / clock.positions_per_epoch
    origin = {"step": 0.0, "target_tokens": 0.0, "seconds": 0.0, "epochs": 0.0} | state.origin
    if "schedule" in reset:
        origin = {
            "step": float(state.step),
            "target_tokens": float(state.target_tokens),
            "seconds": state.seconds,
            "epochs": passed,
        }
    if "data" in reset:
        # Epochs are counted from 0 again, and the length continues from where it was.
        origin["epochs"] -= passed
        state = replace(state, position=0, data={})
    if "best" in reset:
        state = replace(state, best={})
    guard = kept_by_the_guard(state.guard, reset)
    return replace(state, guard=guard, origin={**origin, "reset_at": float(state.step)})


def reset_lines(
    parts: Parts,
    before: TrainState,
    state: TrainState,
    reset: Collection[Reset],
    *,
    last_rate: float = math.nan,
) -> Iterator[str]:
    """A line for each thing that is reset, and for each that is kept.

    `last_rate` is the learning rate of the last step, nan where it is not known."""
    yield f"kept weights: those of step {before.step}"
    for each in RESETS:
        is_reset = each in reset
        said = (
            _said_of_the_rate(parts, state, reset, last_rate=last_rate)
            if each == "learning_rate"
            else _said(each, parts, before, state, is_reset=is_reset)
        )
        yield f"{'reset' if is_reset else 'kept'} {each}: {said}"


def _said_of_the_rate(parts: Parts, state: TrainState, reset: Collection[Reset], *, last_rate: float) -> str:
    peak, next_rate = parts.learning_rate.peak, parts.learning_rate.at(state)
    was = "" if math.isnan(last_rate) else f"; it was {last_rate:.2g} at step {state.step}"
    way = "rises again to" if "schedule" in reset else "has a peak of"
    return f"{next_rate:.2g} at step {state.step + 1}{was}; the schedule {way} {peak:.2g}"


def _said(each: Reset, parts: Parts, before: TrainState, state: TrainState, *, is_reset: bool) -> str:
    recipe = parts.recipe
    if each == "optimizer":
        kind = recipe.step.optimizer.kind
        average = " and the moving average" if recipe.step.ema else ""
        if is_reset:
            return f"the moments of {kind}{average} start over, and so do the gradient statistics of guard and clipping"
        return f"the moments of {kind}{average} after {before.updates} updates"
    if each == "schedule":
        if is_reset:
            return f"{recipe.step.schedule.kind} and the length of {recipe.length} count from here"
        return f"{recipe.step.schedule.kind} continues, length {recipe.length}"
    if each == "data":
        if is_reset:
            return f"starts with the first example; {parts.datasets.epoch_size} an epoch"
        return f"continues at epoch {before.position / parts.clock.positions_per_epoch:.2f}"
    best = before.best
    if not best:
        return "there was none"
    value = f"{best['metric']} {best['value']:g} of step {best['step']}"
    return f"{value} is forgotten" if is_reset else value


def check_shapes(parts: Parts, checkpoint: Checkpoint) -> None:
    """InputError where a setting that may change with a reset gives the model other weights, such as learned positions
    for longer sentences."""
    saved = checkpoint.manifest.tensors["model.safetensors"]
    problems = [
        Problem(
            what=f"{name} has another size than in the checkpoint",
            got=str(tuple(tensor.shape)),
            allowed=str(tuple(saved[name].shape)) if name in saved else "no such weight",
            fix="set `data.max_tokens` and `step.position_shift` as they were"
            if "position" in name
            else "describe the same model",
        )
        for name, tensor in checkpoint_weights(parts.model).items()
        if name not in saved or tuple(saved[name].shape) != tuple(tensor.shape)
    ]
    if problems:
        raise InputError(*problems)

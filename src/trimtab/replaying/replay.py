"""Runs one step of a run again, from the nearest checkpoint before it, and says whether the data or the weights are at
fault."""

import itertools
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trimtab.build import Parts, build, untrained_model
from trimtab.checkpoint.fingerprints import check_fingerprints, recipe_fingerprints
from trimtab.checkpoint.journal import read_journal
from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.resolve import run_at
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.checkpoint.step_folders import list_steps
from trimtab.config.given_path import path_text
from trimtab.config.guard import GuardConfig
from trimtab.config.load import load_recipe
from trimtab.config.resets import MAY_CHANGE
from trimtab.device import choose_device, set_arithmetic
from trimtab.errors import InputError, input_error
from trimtab.guard.outlier import MOST_DEVIATIONS, OutlierRule
from trimtab.model.lora import checkpoint_weights, load_checkpoint_weights
from trimtab.progress import Progress, Silent
from trimtab.replaying.base_checkpoint import ANY_STEP, is_set_aside, sound_before, sound_of_the_branch
from trimtab.replaying.evidence import Column, Evidence, Measure
from trimtab.replaying.left_out import LeftOut, left_out, went_back_from
from trimtab.replaying.report import ReplayReport
from trimtab.replaying.rerun import (
    RecordedStep,
    Records,
    copy_of,
    measure,
    recorded,
    recorded_steps,
    take,
    was_skipped,
)
from trimtab.tasks.task_of import open_datasets, task_of
from trimtab.training.example_losses import suspect_examples
from trimtab.training.first_weights import begin_from_weights, load_frozen_weights
from trimtab.training.restore import restore
from trimtab.training.resumed import migrate_fingerprints, without_paths
from trimtab.training.trace import trace
from trimtab.types import TrainState

OTHERS, OTHERS_BEFORE = 16, 8
"""Windows that are compared with: so many together, and at most so many of them from before."""
STEPS_PER_MESSAGE = 10


@dataclass(slots=True)
class Weights:
    """The weights after some step, in host memory."""

    step: int
    tensors: dict[str, Tensor]


def replay(
    run: Path | str, *, step: int, device: str | None = None, progress: Progress | None = None
) -> ReplayReport:
    """Takes the steps of a run up to `step` again, counted from 1, and judges that one: as it was, with older weights,
    and beside other windows.

    Writes nothing into the run, so that it may be training meanwhile. Raises InputError if there is no such run or
    step, where data, tokenizer or settings are not those of the run any more, and for wrong devices.
    """
    folder = run_at(Path(path_text(run, name="run", allowed="the folder of a run")))
    progress = progress or Silent()
    newest = next(sound_before(folder, ANY_STEP, Silent()), None)
    guard = newest.load_state().guard if newest else {}
    since = int(newest.load_state().origin.get("reset_at", 0)) if newest else 0
    records = {
        line["step"]: line for line in read_journal(folder.metrics) if isinstance(line.get("step"), int)
    }
    known = [*records, *list_steps(folder.checkpoints), *went_back_from(guard)]
    _check_step(folder, step, first=since + 1, last=max(known, default=0))
    refused = frozenset(
        line["step"] for line in read_journal(folder.quarantine) if isinstance(line.get("step"), int)
    )
    left = left_out(step, records=records, guard=guard, refused=refused)
    parts = _opened(folder, newest, device=device, progress=progress)
    checkpoints = sound_before(folder, step, progress)
    if left is not None:
        checkpoints = sound_of_the_branch(folder, left, progress)
        records = {number: line for number, line in records.items() if number < left.stretch[0]}
    checkpoints = (each for each in checkpoints if each.step >= since)
    begun = next(checkpoints, None)
    if begun is None and since:
        raise _not_there(folder, since)
    state, older = _begin(parts, begun, progress)
    if left is not None:
        left = replace(left, from_its_checkpoint=begun is not None and is_set_aside(begun))
        state = replace(state, guard={**state.guard, "masked": [list(each) for each in left.earlier]})
    target, others, halfway = _walk(parts, state, records, step=step, progress=progress)
    now = Weights(step - 1, copy_of(parts))
    older = _older(parts, now, halfway or older, checkpoints, progress)
    progress.message(
        f"measuring {1 + len(others)} windows with the weights of steps {now.step} and {older.step}"
    )
    load_checkpoint_weights(parts.model, now.tensors)
    examples = suspect_examples(parts, target.window, step=step)
    traced = trace(parts, target.window, step=step)
    evidence = _evidence(
        parts, target=target, others=others, now=now, older=older, records=records, left=left
    )
    return ReplayReport(
        run=folder.path,
        step=step,
        started_from=state.step,
        evidence=evidence,
        examples=tuple(examples),
        trace=str(traced or ""),
        device=str(parts.device),
        older_is_untrained=older.step == 0 and not parts.recipe.begins_trained,
        left_out=left,
    )


def _not_there(folder: RunFolder, since: int) -> InputError:
    return input_error(
        f"{folder.path}: no checkpoint since the reset at step {since} is there",
        got="none, and the steps before it had other data or settings",
        allowed="a step that a checkpoint since then comes before",
        fix="replay a step after the oldest checkpoint, and keep more of them: `checkpoint.keep`",
    )


def _check_step(folder: RunFolder, step: int, *, first: int, last: int) -> None:
    if last == 0:
        raise input_error(
            f"{folder.path}: no step to replay",
            got="a run that has taken none",
            allowed="a run with metrics or checkpoints",
            fix="wait for its first steps, or resume it with `trimtab train ... --resume`",
        )
    if not first <= step <= last:
        raise input_error(
            f"{folder.path}: there is no step {step}"
            + (f" since the reset at step {first - 1}" if 1 <= step < first else ""),
            got=str(step),
            allowed=f"{first} to {last}, the last recorded one",
            fix="metrics.jsonl has all steps; findings.jsonl lists the skipped ones",
        )


def _opened(folder: RunFolder, newest: Checkpoint | None, *, device: str | None, progress: Progress) -> Parts:
    """The parts of the run; InputError if data, tokenizer or settings are not what they were."""
    place = choose_device(device)
    recipe = load_recipe(folder.recipe).recipe
    # Where something is missing, opening the data would make another one there.
    task_of(recipe).check_prepared(folder.tokenizer)
    datasets = open_datasets(recipe, tokenizer_folder=folder.tokenizer, progress=progress)
    set_arithmetic(recipe)
    stored = recipe_fingerprints(without_paths(recipe))
    parts = build(recipe, datasets, device=place)
    marks = {**recipe_fingerprints(without_paths(parts.recipe)), **datasets.fingerprints}
    if newest is not None:
        try:
            check_fingerprints(
                migrate_fingerprints(newest.fingerprints), marks, may_change=MAY_CHANGE, as_read_now=stored
            )
        except InputError as error:
            fix = "put it back: a replay needs the data and the settings that the run was trained with"
            raise InputError(*(replace(each, fix=fix) for each in error.problems)) from None
    return parts


def _begin(
    parts: Parts, checkpoint: Checkpoint | None, progress: Progress
) -> tuple[TrainState, Weights | None]:
    """Puts the parts where a checkpoint left them, or where the run began; gives the state, and its weights."""
    if checkpoint is not None:
        load_frozen_weights(parts)
        state = restore(parts, checkpoint)
        progress.message(f"from checkpoint {checkpoint.folder.name}")
        return state, Weights(state.step, copy_of(parts))
    begin_from_weights(parts, progress=progress)
    progress.message("from the beginning of the run: no checkpoint before that step is there")
    return TrainState(), None


def _walk(
    parts: Parts, state: TrainState, records: Records, *, step: int, progress: Progress
) -> tuple[RecordedStep, list[RecordedStep], Weights | None]:
    """Takes every step before `step`; gives its window and other ones, and the weights of halfway where the walk began
    with nothing, so that there are older ones that have learned something."""
    before: deque[RecordedStep] = deque(maxlen=OTHERS_BEFORE)
    halfway: Weights | None = None
    first, middle = state.step, (step - 1) // 2
    road = recorded_steps(parts, state, records)
    for station in road:
        if first == 0 and station.before.step == middle:
            halfway = Weights(middle, copy_of(parts))
        if station.step == step:
            after = list(itertools.islice(road, OTHERS - len(before)))
            road.close()
            return station, [*before, *after], halfway
        report = take(parts, station, records)
        before.append(station)
        if station.step % STEPS_PER_MESSAGE == 0:
            line: dict[str, Any] = {"step": station.step, "loss": float(report.loss)}
            progress.step(line, share=(station.step - first) / (step - first), seconds_left=None)
    raise AssertionError("the stream of windows has no end")


def _older(
    parts: Parts, now: Weights, known: Weights | None, checkpoints: Iterator[Checkpoint], progress: Progress
) -> Weights:
    """The newest older weights that are others than the present ones; those of the beginning where none are left."""
    if known is not None and not _equal(known.tensors, now.tensors):
        return known
    for checkpoint in checkpoints:
        tensors = checkpoint.load_model()
        if not _equal(tensors, now.tensors):
            return Weights(checkpoint.step, tensors)
    fresh = untrained_model(parts.task, parts.recipe, parts.datasets, device=torch.device("cpu"))
    load_checkpoint_weights(parts.model, checkpoint_weights(fresh))
    begin_from_weights(parts, progress=progress)
    return Weights(0, copy_of(parts))


def _evidence(
    parts: Parts,
    *,
    target: RecordedStep,
    others: list[RecordedStep],
    now: Weights,
    older: Weights,
    records: Records,
    left: LeftOut | None,
) -> Evidence:
    """Takes the step with the present weights, which are those of `now`, and measures the windows by both weights."""
    report = take(parts, target, records)
    line = records.get(target.step, {})
    as_it_was = Measure(float(report.loss), float(report.grad_norm))
    return Evidence(
        recorded=recorded(line),
        now=_column(parts, now, target, others, window=as_it_was),
        older=_column(parts, older, target, others),
        refused=was_skipped(line) if left is None else left.refused,
        refused_again=left is None or bool(report.skip_reason),
        history=_history(records, before=target.step, window=parts.recipe.guard.window),
        rule=rule_of(parts.recipe.guard),
    )


def _column(
    parts: Parts,
    weights: Weights,
    target: RecordedStep,
    others: list[RecordedStep],
    *,
    window: Measure | None = None,
) -> Column:
    """The window and others by some weights."""
    load_checkpoint_weights(parts.model, weights.tensors)
    return Column(
        weights.step,
        measure(parts, target) if window is None else window,
        tuple(measure(parts, each) for each in others),
    )


def rule_of(config: GuardConfig) -> OutlierRule:
    """The outlier rule that a recipe asks for."""
    return OutlierRule(
        window=config.window,
        active_from=config.active_from,
        loss_deviations=at_most(config.loss_deviations),
        norm_deviations=at_most(config.norm_deviations),
    )


def at_most(deviations: float) -> float:
    """A bound that a rule takes; a recipe may have any, of which the largest never speak."""
    return deviations if deviations <= MOST_DEVIATIONS else math.inf


def _history(records: Records, *, before: int, window: int) -> tuple[Measure, ...]:
    """What the newest applied steps before had, as far as it is written down."""
    applied = (line for step, line in sorted(records.items()) if step < before and not line.get("skipped"))
    found = [each for line in applied if (each := recorded(line)) is not None and each.finite]
    return tuple(found[-window:])


def _equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)

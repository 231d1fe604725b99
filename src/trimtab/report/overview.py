"""The top of the page: what a run is, how far it is, how it is, and what to do next."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np

from trimtab.metrics.catalogue import METRICS
from trimtab.report.findings import ShownFinding
from trimtab.report.plain_values import is_number
from trimtab.report.run_data import RunData
from trimtab.units import Duration, counted

FINISHED_SHARE = 0.999
RISES = 1.02
"""A validation loss this much above its lowest counts as risen."""
WAITS = 0.1
"""Share of the time without a batch from which it is worth a sentence."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One number at the top."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Overview:
    """What the top of the page says of one run."""

    name: str
    task: str
    model: str
    state: str
    share: float
    """Of its length, 0 to 1; NaN where it is not known."""
    health: str
    """`good`, `warning` or `error`."""
    verdict: str
    tiles: tuple[Tile, ...]
    advice: tuple[str, ...]
    """What the curves themselves suggest, in sentences."""


def overview_of(run: RunData, findings: list[ShownFinding]) -> Overview:
    """The overview of a run by its logs, recipe and findings."""
    share = share_of(run)
    health, verdict = _verdict(run, findings)
    return Overview(
        name=run.name,
        task=str(run.value("task", "")).replace("_", " "),
        model=_model(run),
        state=_state(run, share),
        share=share,
        health=health,
        verdict=verdict,
        tiles=tuple(_tiles(run, share)),
        advice=tuple(_advice(run, share)),
    )


def share_of(run: RunData) -> float:
    """How much of its length is over; NaN where the recipe does not say."""
    try:
        length = Duration.parse(str(run.value("length", "")))
    except ValueError:
        return math.nan
    match length.unit:
        case "steps":
            done = run.last("step")
        case "epochs":
            done = run.last("epoch")
        case "tokens":
            done = float(np.nansum(run.steps.column("target_tokens")))
        case "minutes":
            done = run.last("seconds") / 60
    return min(1.0, done / length.count) if length.count > 0 and math.isfinite(done) else math.nan


def best_of(run: RunData) -> tuple[str, float, int] | None:
    """Name of the metric that chooses the best checkpoint, its best value and its step; None before an evaluation."""
    chosen = str(run.value("evaluate.best.metric", "loss"))
    metric = next((each for each in METRICS if each.name == chosen), METRICS[0])
    wanted = run.value("evaluate.best.set") or next((each.get("set") for each in run.evaluations), None)
    scored = [
        (each[metric.name], -each["step"], each["step"])
        for each in run.evaluations
        if each.get("set") == wanted
        and _is_finite(each.get(metric.name))
        and isinstance(each.get("step"), int)
    ]
    if not scored:
        return None
    value, _, step = min(scored, key=lambda s: (s[0], s[2])) if metric.lower_is_better else max(scored)
    return metric.name, float(value), step


def _verdict(run: RunData, findings: list[ShownFinding]) -> tuple[str, str]:
    holding = [each for each in findings if not each.is_over]
    errors = [each for each in holding if each.severity == "error"]
    warnings = [each for each in holding if each.severity == "warning"]
    if errors:
        first = holding[0]  # an error, or what may have brought one about
        link = ":" if first.severity == "error" else "; first see to"
        return "error", f"{counted(len(errors), 'error')}{link} {first.name.replace('-', ' ')}"
    if diverged(run):
        return "error", "the newest loss is not a number"
    if warnings:
        return "warning", f"{counted(len(warnings), 'warning')}: {warnings[0].name.replace('-', ' ')}"
    if run.log_problems:
        return "warning", "a log of the run could not be read whole"
    if not run.steps.num_rows:
        return "warning", "no step was written yet"
    return "good", "no errors and no warnings"


def diverged(run: RunData) -> bool:
    """Whether the loss of the newest step is not finite, and the step was not skipped for it."""
    rows = run.steps.not_finite("loss")
    newest = run.steps.num_rows - 1
    return bool(len(rows) and rows[-1] == newest and run.steps.column("skipped")[newest] != 1)


def _state(run: RunData, share: float) -> str:
    if not run.is_there:
        return "its folder is gone; this is what was read before"
    if not run.steps.num_rows:
        return "has not begun"
    step = (
        f"step {run.last('step'):,.0f}"
        if math.isfinite(run.last("step"))
        else f"{run.steps.num_rows:,} steps"
    )
    if share >= FINISHED_SHARE:
        return f"finished at {step}"
    done = f", {share:.0%} of {run.value('length')}" if math.isfinite(share) else ""
    if run.is_training:
        return f"training: {step}{done}"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.written_at))
    return f"stopped at {step}{done} ({when})"


def _model(run: RunData) -> str:
    model = run.value("model", {})
    model = model if isinstance(model, dict) else {}
    words = [str(model.get(key)).replace("_", "-") for key in ("preset", "kind") if model.get(key)]
    parts = [" ".join(words)]
    if run.checkpoints and run.checkpoints[-1].parameters:
        parts.append(f"{human(run.checkpoints[-1].parameters)} parameters")
    if precision := run.value("step.precision"):
        parts.append(str(precision))
    for stage in run.facts.get("trained") or ():
        if isinstance(stage, dict) and {"step", "parameters"} <= stage.keys():
            since = "" if stage["step"] == 1 else f" from step {stage['step']:,} on"
            parts.append(f"{human(stage['parameters'])} trained{since}")
    return ", ".join(part for part in parts if part)


def _tiles(run: RunData, share: float) -> Iterator[Tile]:
    best = best_of(run)
    if best:
        metric = next(each for each in METRICS if each.name == best[0])
        yield Tile(f"best {metric.label}", f"{best[1]:.{metric.digits}f}", f"at step {best[2]:,}")
    steps = run.steps
    if not steps.num_rows:
        return
    loss = steps.column("loss")
    known = loss[np.isfinite(loss)]
    if len(known):
        yield Tile(
            "training loss", f"{np.median(known[-20:]):.3f}", f"from {known[0]:.3f}; median of 20 steps"
        )
    yield Tile(
        "steps", f"{steps.num_rows:,}", f"{share:.0%} of {run.value('length')}" if share == share else ""
    )
    seconds, speed = run.last("seconds"), steps.column("tokens_per_second")
    if math.isfinite(seconds):
        left = seconds / share - seconds if 0 < share < FINISHED_SHARE else math.nan
        yield Tile(
            "time in training", duration(seconds), f"about {duration(left)} to go" if left == left else ""
        )
    if np.isfinite(speed).any():
        yield Tile(f"{run.task_facts.tokens} per second", human(float(np.nanmedian(speed))), "median")
    skipped, clipped = (int(np.nansum(steps.column(name))) for name in ("skipped", "clipped"))
    yield Tile("skipped steps", f"{skipped:,}", f"{clipped / steps.num_rows:.0%} of all steps clipped")


def _advice(run: RunData, share: float) -> Iterator[str]:
    """Only what numbers of this run say; findings have their own list."""
    yield from run.log_problems
    if (odd := len(run.steps.not_finite("loss"))) and diverged(run):
        first = int(run.steps.not_finite("loss")[0]) + 1
        yield (
            f"The loss is not a number in {odd:,} lines of `metrics.jsonl`, first in line {first:,}: go back to a "
            "checkpoint before it, and lower the learning rate."
        )
        return
    rows = [each for each in run.evaluations if _is_finite(each.get("loss"))]
    name = rows[0].get("set") if rows else None
    losses = [(each["loss"], each["step"]) for each in rows if each.get("set") == name]
    lowest = min(losses, default=None)
    best = best_of(run)
    if lowest and len(losses) > 2 and losses[-1][0] > RISES * lowest[0]:
        yield (
            f"The validation loss was lowest at step {lowest[1]:,} ({lowest[0]:.3f}) and has risen to "
            f"{losses[-1][0]:.3f} since, while training goes on: the model overfits. "
            "More data, more dropout, or an earlier end (`evaluate.patience`) help."
        )
    elif best and len(losses) > 2 and best[2] == losses[-1][1] and share >= FINISHED_SHARE:
        yield "The best evaluation is the last one, so a longer run would probably be better still."
    waits = next(
        (each["data_wait"] for each in reversed(run.health) if _is_finite(each.get("data_wait"))), 0.0
    )
    if waits > WAITS:
        yield (
            f"Training waits for data {waits:.0%} of the time: more `data.workers` or a faster disk would speed "
            "it up."
        )
    if (skipped := _skipped_at_the_end(run)) and not run.is_training:
        yield (
            f"The run ended after {skipped:,} skipped steps in a row: resuming it repeats them unless something "
            "changes. See what the first of them had that earlier steps had not: a higher learning rate, other data, "
            "or broken lines."
        )
    elif share < FINISHED_SHARE and not run.is_training and run.steps.num_rows:
        yield f"The run is not over. Continue it with `trimtab train RECIPE --out {quote(str(run.path))} --resume`."
    if run.checkpoints and share >= FINISHED_SHARE:
        yield f"Use the model: `{run.task_facts.command} {quote(str(run.path))}`."


def _skipped_at_the_end(run: RunData) -> int:
    """How many steps in a row the guard skipped until the run ended; 0 for so few that it went on."""
    skipped = run.steps.column("skipped") == 1
    accepted = np.flatnonzero(~skipped)
    count = len(skipped) - (int(accepted[-1]) + 1 if len(accepted) else 0)
    cap = run.value("guard.cap", 8)
    return count if is_number(cap) and count >= max(1, cap) else 0


def human(number: float | int) -> str:
    """`1.53M`, `12.3k`, `950`."""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= size:
            return (
                f"{number / size:.3g}{unit}" if abs(number) < 999.5 * size else f"{number / size:,.0f}{unit}"
            )
    return f"{number:.3g}" if abs(number) < 999.5 else f"{number:,.0f}"


def num_bytes(number: float | int) -> str:
    """`1.5 MB`."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number:.0f} bytes"


def duration(seconds: float | int) -> str:
    """`45 s`, `3 min 20 s`, `2 h 5 min`, `3 days 4 h`."""
    if not math.isfinite(seconds):
        return "an unknown time"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    for size, unit, below, smaller in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // below} {smaller}"
    raise AssertionError("a minute or more is one of these")


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

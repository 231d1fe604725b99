"""Scores the validation sets, diagnoses the model, and chooses the best checkpoint."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import nn

from trimtab.build import Parts
from trimtab.config.run import EvaluateConfig
from trimtab.distributed import ONE_RANK, Ranks
from trimtab.distributed.agree import broadcast_from_first
from trimtab.metrics.catalogue import metric_of
from trimtab.run_findings.evaluations import EVALUATION_NOT_FINITE
from trimtab.tasks.task import Moment
from trimtab.training.early_stopping import counted, is_another, rank_of, watched
from trimtab.training.record import Recorder
from trimtab.training.refreshes import few_refreshes_so_far
from trimtab.types import TrainState


def validate(parts: Parts, state: TrainState, recorder: Recorder) -> TrainState:
    """Scores every validation set, once for each step; the state then knows the best evaluation so far."""
    state = recorder.flush(state)
    if state.evaluated == state.step:
        return state
    recorder.findings.look_again_for(EVALUATION_NOT_FINITE.code, *parts.task.validation.judged_again)
    parts.stepper.make_room_to_evaluate()
    parts.model.eval()
    model, sets = parts.evaluation_model.copy().eval(), parts.datasets.valid
    with recorder.findings.of_an_evaluation():
        scores = {name: score_set(parts, model, valid, state, recorder) for name, valid in sets.items()}
        parts.model.train()
        look_at_health(state, recorder)
    look_at_average(parts, state, recorder)
    recorder.start_clock()
    state = replace(state, evaluated=state.step)
    if not scores:
        return state
    warmup = parts.recipe.step.schedule.warmup
    warming_up = warmup is not None and parts.clock.share(warmup, state) < 1
    return with_best(state, scores, parts.recipe.evaluate, warming_up=warming_up, ranks=recorder.ranks)


def score_set(
    parts: Parts, model: nn.Module, valid: Any, state: TrainState, recorder: Recorder
) -> dict[str, Any]:
    """The scores of one set, written down; of the first set its samples too, and what they say about the model."""
    started, own = time.perf_counter(), parts.task.validation
    first = valid is next(iter(parts.datasets.valid.values()))
    with recorder.health.watching(model, rows_of_rank(valid.rows, recorder.ranks) if first else 0):
        loss = own.loss_of(parts, model, valid)
    moment = Moment(
        loss=loss,
        started=started,
        first=first,
        share=parts.clock.share(parts.recipe.length, state),
        input_matters=recorder.input_matters,
    )
    found = own.scored(parts, model, valid, moment)
    scores: dict[str, Any] = {"step": state.step, "set": valid.name, "loss": loss, **found.scores}
    recorder.input_matters = found.input_matters
    for finding in found.findings:
        recorder.finding(finding)
    for sample in found.samples:
        recorder.sample({"step": state.step, "set": valid.name, **sample})
    if found.sentences is not None:
        recorder.logger.sentences.write({"step": state.step, "set": valid.name, **found.sentences})
    if found.picture:
        recorder.logger.picture(found.picture, step=state.step)
    recorder.evaluation(scores)
    return scores


def rows_of_rank(rows: int, ranks: Ranks) -> int:
    """About the rows of a set that one rank reads, since the ranks take its packs in turn."""
    return -(-rows // ranks.world_size)


def look_at_health(state: TrainState, recorder: Recorder) -> None:
    """Reports and writes down what the watches saw since the last evaluation.

    In a log of its own: unlike scores these numbers are of this process, and start again in one that resumes.
    """
    look = recorder.health.look()
    recorder.logger.look({"step": state.step, **look.scores, **look.details})
    recorder.findings.look_again_for(*look.over)
    for finding in look.findings:
        recorder.finding(finding)


def look_at_average(parts: Parts, state: TrainState, recorder: Recorder) -> None:
    """A finding, once, where a moving average is refreshed too seldom for the pace of the run."""
    for finding in few_refreshes_so_far(parts, state):
        if finding.code not in {each.code for each in recorder.findings.current}:
            recorder.finding(replace(finding, severity="warning"))


def with_best(
    state: TrainState,
    scores: Mapping[str, Mapping[str, Any]],
    config: EvaluateConfig,
    *,
    warming_up: bool = False,
    ranks: Ranks = ONE_RANK,
) -> TrainState:
    """The state with the best evaluation so far, and how many have passed since; `scores` by validation set. Every rank
    goes by the scores that the first one found.

    Of evaluations with the same value the one with the lower loss is the best: scores are rounded, and early in a run
    they hardly move while the loss falls. None in the warmup counts against `evaluate.patience`, and none before the
    metric moved.
    """
    best = config.best
    name = best.set or next(iter(scores))
    seen = {
        key: broadcast_from_first(scores[name][key], ranks) for key in watched_scores(config, scores[name])
    }
    value, loss = seen[best.metric], seen.get("loss", math.nan)
    compared = compared_by(config, name)
    old = state.best if is_compared(state.best, compared) else {}
    several = watched(old, seen, config, warming_up=warming_up)
    before = rank_of(best.metric, old["value"], old.get("loss", -math.inf)) if old else None
    if before is None or rank_of(best.metric, value, loss) > before:
        tie_breaker = {} if best.metric == "loss" else {"loss": loss}
        moved = {"moved": True} if old and (old.get("moved") or is_another(old["value"], value)) else {}
        if not math.isfinite(value):
            value = math.inf if metric_of(best.metric).lower_is_better else -math.inf
        new = {**compared, "value": value, **tie_breaker, "step": state.step, "since": 0, **moved}
        return replace(state, best={**new, **several})
    since = counted(old, value=value, warming_up=warming_up)
    kept = {name: found for name, found in old.items() if name != "stop_on"}  # which the recipe may have lost
    return replace(state, best={**kept, "since": since, **several})


def watched_scores(config: EvaluateConfig, scores: Mapping[str, Any]) -> list[str]:
    """The scores that choose the best evaluation and count for the patience, and the loss, which decides between
    equals."""
    named = (config.best.metric, *(config.stop_on.metrics if config.stop_on else ()), "loss")
    return [name for name in dict.fromkeys(named) if name in scores]


def compared_by(config: EvaluateConfig, name: str) -> dict[str, str]:
    """Of what evaluations are compared: the set, the metric, and the weights where they are not the trained ones."""
    averaged = {"weights": "ema"} if config.weights == "ema" else {}
    return {"set": name, "metric": config.best.metric, **averaged}


def is_compared(best: Mapping[str, Any], compared: Mapping[str, str]) -> bool:
    """Whether the best so far was chosen by these."""
    return {key: best[key] for key in ("set", "metric", "weights") if key in best} == compared

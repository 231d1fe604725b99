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
from trimtab.distributed.agree import of_first
from trimtab.metrics.catalogue import metric_of
from trimtab.run_findings.evaluations import EVALUATION_NOT_FINITE
from trimtab.tasks.task import Moment
from trimtab.training.record import Recorder
from trimtab.training.refreshes import few_refreshes_so_far
from trimtab.types import TrainState


def validate(parts: Parts, state: TrainState, recorder: Recorder) -> TrainState:
    """Scores every validation set, once for each step; the state then knows the best evaluation so far."""
    state = recorder.flush(state)
    if state.evaluated == state.step:
        return state
    recorder.findings.look_again_for(EVALUATION_NOT_FINITE.code, *parts.task.validation.judged_again)
    parts.model.eval()
    model, sets = parts.evaluation_model.copy().eval(), parts.datasets.valid
    with recorder.findings.of_an_evaluation():
        scores = {name: score_set(parts, model, valid, state, recorder) for name, valid in sets.items()}
        parts.model.train()
        look_at_health(state, recorder)
    look_at_average(parts, state, recorder)
    recorder.start_clock()
    state = replace(state, evaluated=state.step)
    return with_best(state, scores, parts.recipe.evaluate, ranks=recorder.ranks) if scores else state


def score_set(
    parts: Parts, model: nn.Module, valid: Any, state: TrainState, recorder: Recorder
) -> dict[str, Any]:
    """The scores of one set, written down; of the first set its samples too, and what they say about the model."""
    started, own = time.perf_counter(), parts.task.validation
    first = valid is next(iter(parts.datasets.valid.values()))
    with recorder.health.watching(model, valid.rows if first else 0):
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
        recorder.samples.write({"step": state.step, "set": valid.name, **sample})
    recorder.evaluation(scores)
    return scores


def look_at_health(state: TrainState, recorder: Recorder) -> None:
    """Reports and writes down what the watches saw since the last evaluation.

    In a log of its own: unlike scores these numbers are of this process, and start again in one that resumes.
    """
    look = recorder.health.look()
    recorder.health_log.write({"step": state.step, **look.scores})
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
    ranks: Ranks = ONE_RANK,
) -> TrainState:
    """The state with the best evaluation so far, and how many have passed since; `scores` by validation set. Every rank
    goes by the score that the first one found."""
    best = config.best
    name = best.set or next(iter(scores))
    value = of_first(scores[name][best.metric], ranks)
    sign = -1 if metric_of(best.metric).lower_is_better else 1
    # Scores of a run are of the raw weights unless they say otherwise.
    averaged = {"weights": "ema"} if config.weights == "ema" else {}
    compared = {"set": name, "metric": best.metric, **averaged}
    same = {key: state.best.get(key) for key in ("set", "metric", "weights") if key in state.best} == compared
    old = state.best["value"] if same else None
    if not math.isfinite(value):
        value = -sign * math.inf
    if old is None or sign * value > sign * old:
        new = {**compared, "value": value, "step": state.step, "since": 0}
        return replace(state, best=new)
    return replace(state, best={**state.best, "since": state.best.get("since", 0) + 1})

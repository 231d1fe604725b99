"""The validation sets are scored, the scores are looked at for signs of an ill model, and the best is chosen."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trimtab.build import Parts
from trimtab.config.run import EvaluateConfig
from trimtab.data.valid_set import ValidSet
from trimtab.metrics.catalogue import metric_of, text_scores
from trimtab.model.kinds import Model
from trimtab.training.diagnose import diagnose, loss_not_finite
from trimtab.training.record import Recorder
from trimtab.training.refreshes import few_refreshes_so_far
from trimtab.training.validation_scores import (
    TranslatedLines,
    loss_of,
    metrics_of_translations,
    spread,
    translate,
    translation_scores,
)
from trimtab.types import TrainState


def validate(parts: Parts, state: TrainState, recorder: Recorder) -> TrainState:
    """Scores every validation set, once for each step; the state then knows the best evaluation so far."""
    state = recorder.flush(state)
    if state.evaluated == state.step:
        return state
    recorder.findings.look_again_for("E901", "E903", "E906", "M901")
    parts.model.eval()
    model, sets = parts.evaluation_model.copy().eval(), parts.sources.valid
    with recorder.findings.of_an_evaluation():
        scores = {name: score_set(parts, model, valid, state, recorder) for name, valid in sets.items()}
        parts.model.train()
        look_at_health(state, recorder)
    look_at_average(parts, state, recorder)
    recorder.start_clock()
    state = replace(state, evaluated=state.step)
    return with_best(state, scores, parts.recipe.evaluate) if scores else state


def score_set(
    parts: Parts, model: Model, valid: ValidSet, state: TrainState, recorder: Recorder
) -> dict[str, Any]:
    """The scores of one set, written down; of the first set its samples too, and what they say about the model."""
    started = time.perf_counter()
    first = valid is next(iter(parts.sources.valid.values()))
    with recorder.health.watching(model, valid if first else None):
        loss = loss_of(parts, model, valid)
    scores: dict[str, Any] = {"step": state.step, "set": valid.name, "loss": loss}
    metrics, by_loss = metrics_of_translations(parts), parts.recipe.facts.scores_follow_from_the_loss
    if by_loss:
        scores |= text_scores(loss, num_targets=valid.targets, num_bytes=valid.num_bytes)
    if len(valid.target) and not math.isfinite(loss):
        # Nothing can be translated. The guard sees the same at the next steps, and sends the run back.
        consequence = (
            ""
            if parts.recipe.facts.scores_follow_from_the_loss and not metrics
            else ": nothing was translated"
        )
        recorder.finding(loss_not_finite(valid, loss, consequence=consequence))
        scores |= dict.fromkeys((metric.name for metric in metrics), math.nan)
    elif metrics or (first and not by_loss):
        found = translate(parts, model, valid)
        scores |= translation_scores(parts, valid, found)
        if first:
            share = parts.pace.share(parts.recipe.length, state)
            said = diagnose(
                parts,
                model,
                valid,
                found,
                loss=loss,
                share=share,
                source_matters=recorder.source_matters,
            )
            recorder.source_matters = said.source_matters
            for finding in said.findings:
                recorder.finding(finding)
            write_samples(found, scores, recorder, limit=parts.recipe.evaluate.samples)
        scores["seconds"] = round(time.perf_counter() - started, 3)
    recorder.evaluation(scores)
    return scores


def write_samples(found: TranslatedLines, scores: dict[str, Any], recorder: Recorder, *, limit: int) -> None:
    """At most `limit` of the translations, evenly spread, to `samples.jsonl`."""
    for i in spread(len(found.lines), limit):
        sample = {"step": scores["step"], "set": scores["set"], "line": found.lines[i] + 1}
        sample |= {
            "source": found.sources[i],
            "translation": found.outputs[i],
            "reference": found.references[i],
        }
        recorder.samples.write(sample)


def look_at_health(state: TrainState, recorder: Recorder) -> None:
    """Reports and writes down what the watches saw since the last evaluation.

    In a log of its own: unlike scores these numbers are of this process, and begin anew in one that resumes.
    """
    look = recorder.health.look()
    recorder.health_log.write({"step": state.step, **look.scores})
    recorder.findings.look_again_for(*look.over)
    for finding in look.findings:
        recorder.finding(finding)


def look_at_average(parts: Parts, state: TrainState, recorder: Recorder) -> None:
    """A finding, once, where a moving average is refreshed too seldom for the pace of the run."""
    for finding in few_refreshes_so_far(parts, state):
        if finding.code not in {each.code for each in recorder.findings.standing}:
            recorder.finding(replace(finding, severity="warning"))


def with_best(
    state: TrainState, scores: Mapping[str, Mapping[str, Any]], config: EvaluateConfig
) -> TrainState:
    """The state with the best evaluation so far, and how many have passed since; `scores` by validation set."""
    best = config.best
    name = best.set or next(iter(scores))
    value = scores[name][best.metric]
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
